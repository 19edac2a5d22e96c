package fetch

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		ip   string
		want bool
	}{
		{"93.184.216.34", true},
		{"8.8.8.8", true},
		{"192.0.1.1", true},
		{"172.32.0.1", true},
		{"2606:2800:220:1::1", true},
		{"2001:4860:4860::8888", true},
		{"::ffff:8.8.8.8", true},
		{"64:ff9b::808:808", true},              // NAT64 of 8.8.8.8
		{"2002:808:808::1", true},               // 6to4 of 8.8.8.8
		{"127.0.0.1", false},                    // loopback
		{"127.255.255.254", false},              //
		{"::1", false},                          //
		{"::ffff:127.0.0.1", false},             // the same, mapped
		{"::127.0.0.1", false},                  // the same, compatible
		{"64:ff9b::7f00:1", false},              // the same, by NAT64
		{"64:ff9b::a00:1", false},               // 10.0.0.1 by NAT64
		{"64:ff9b:1::a00:1", false},             // local NAT64
		{"2002:7f00:1::", false},                // loopback by 6to4
		{"2002:c0a8:101::1", false},             // 192.168.1.1 by 6to4
		{"2001:0:1:2:3:4:5:6", false},           // Teredo
		{"2606:2800::5efe:c0a8:101", false},     // 192.168.1.1 by ISATAP
		{"2606:2800::200:5efe:c0a8:101", false}, //
		{"0.0.0.0", false},
		{"0.1.2.3", false},
		{"::", false},
		{"10.0.0.1", false},
		{"172.16.0.1", false},
		{"172.31.255.255", false},
		{"192.168.0.1", false},
		{"169.254.169.254", false}, // where clouds keep their keys
		{"fe80::1", false},
		{"fe80::1%eth0", false},
		{"2606:2800::1%eth0", false},
		{"fc00::1", false},
		{"fd00:ec2::254", false},
		{"fec0::1", false},
		{"100.64.0.1", false}, // shared by providers
		{"100.100.100.200", false},
		{"192.0.0.8", false},
		{"198.18.0.1", false},
		{"224.0.0.1", false},
		{"ff02::1", false},
		{"240.0.0.1", false},
		{"255.255.255.255", false},
		{"2001:db8::1", false},
		{"4000::1", false},
	} {
		if got := public(netip.MustParseAddr(tc.ip)); got != tc.want {
			t.Errorf("public(%s) = %v", tc.ip, got)
		}
		address := net.JoinHostPort(tc.ip, "80")
		if err := control("tcp6", address, nil); (err == nil) != tc.want || err != nil && !errors.Is(err, ErrPrivate) {
			t.Errorf("control(%s) = %v", address, err)
		}
	}
}

func TestControlRefusesWhatIsNoAddress(t *testing.T) {
	t.Parallel()
	for _, tc := range [][2]string{{"unix", "/run/docker.sock"}, {"tcp", "localhost:80"}, {"tcp", ""}, {"udp", "8.8.8.8:53"}} {
		if err := control(tc[0], tc[1], nil); !errors.Is(err, ErrPrivate) {
			t.Errorf("control(%s, %s) = %v", tc[0], tc[1], err)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ address, want string }{
		{"https://example.org/a?b", ""},
		{"http://example.org:8080", ""},
		{"http://127.0.0.1/", ""}, // the dial rejects it
		{"http://[::1]/", ""},
		{"http://1.example/", ""},
		{"http://a.b-2/", ""},
		{"file:///etc/passwd", "only http"},
		{"ftp://example.org/", "only http"},
		{"gopher://example.org/", "only http"},
		{"data:text/plain,x", "only http"},
		{"example.org/a", "no valid address"},
		{"http:///a", "no host"},
		{"http://user:secret@example.org/", "password"},
		{"http://user@example.org/", "password"},
		{"http://127.1/", "odd"},
		{"http://2130706433/", "odd"},
		{"http://0x7f000001/", "odd"},
		{"http://0x7f.0.0.1/", "odd"},
		{"http://0177.0.0.1/", "odd"},
		{"http://127.0.0.1./", "odd"},
		{"http://127.0.0.0x1/", "odd"},
		{"http://00000177.1/", "odd"},
		{"http://256.256.256.256/", "odd"},
	} {
		u, err := url.Parse(tc.address)
		if err != nil {
			t.Fatal(err)
		}
		err = check(u)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("check(%s) = %v, want %q", tc.address, err, tc.want)
		}
	}
}

// FuzzPublic checks that an address with an embedded IPv4 address is never more public than the
// latter.
func FuzzPublic(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add([]byte{10, 1, 2, 3})
	f.Add([]byte{8, 8, 8, 8})
	f.Add([]byte{169, 254, 169, 254})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != 4 {
			return
		}
		inner := netip.AddrFrom4([4]byte(b))
		carriers := [][]byte{
			append(make([]byte, 10), 0xff, 0xff, b[0], b[1], b[2], b[3]),
			append(make([]byte, 12), b...),
			append([]byte{0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}, b...),
			append([]byte{0x20, 0x02, b[0], b[1], b[2], b[3]}, make([]byte, 10)...),
			append([]byte{0x26, 0x06, 1, 2, 3, 4, 5, 6, 0, 0, 0x5e, 0xfe}, b...),
		}
		for _, c := range carriers {
			if ip, _ := netip.AddrFromSlice(c); public(ip) && !public(inner) {
				t.Errorf("%s is public, the %s in it is not", ip, inner)
			}
		}
	})
}
