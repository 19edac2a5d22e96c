package fetch

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
)

// ErrPrivate is wrapped by the error of a blocked address.
var ErrPrivate = errors.New("not on the public internet")

// hidden are the ranges without public hosts, beyond the ranges known to netip (RFC 6890 and later
// additions).
var hidden = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "64:ff9b:1::/48",
)

var (
	global = netip.MustParsePrefix("2000::/3")
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4 = netip.MustParsePrefix("2002::/16")
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// public reports whether an address belongs to a host on the public internet. If it embeds another
// address, both must be public.
func public(ip netip.Addr) bool {
	ip = ip.Unmap()
	if !ip.IsValid() || ip.Zone() != "" || !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false // loopback, link-local, multicast, unspecified, unique local
	}
	for _, p := range hidden {
		if p.Contains(ip) {
			return false
		}
	}
	if ip.Is4() {
		return true
	}
	b := ip.As16()
	switch {
	case nat64.Contains(ip):
		return public(netip.AddrFrom4([4]byte(b[12:])))
	case !global.Contains(ip): // of the rest nothing is given out
		return false
	case sixTo4.Contains(ip):
		return public(netip.AddrFrom4([4]byte(b[2:6])))
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP
		return public(netip.AddrFrom4([4]byte(b[12:])))
	}
	return true
}

// control is a [net.Dialer]'s Control. It checks the final address of a connection, after every
// name has been resolved. So no name, no redirect and no second answer of a name server gets around
// it.
func control(network, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s: %w", address, ErrPrivate)
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !strings.HasPrefix(network, "tcp") || !public(ip) {
		return fmt.Errorf("%s is %w", host, ErrPrivate)
	}
	return nil
}

// noAddress is the error for an invalid address.
func noAddress(text string) error {
	return fmt.Errorf("it is no valid address. Send https://%s for a web page; read files of the workspace with read_file", text)
}

// check returns an error for a blocked address before a request is sent.
func check(u *url.URL) error {
	host := u.Hostname()
	switch {
	case u.Scheme == "":
		return noAddress(u.String())
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("only http and https addresses can be read, not %s; read files of the workspace with read_file", u.Scheme)
	case host == "":
		return errors.New("the address names no host")
	case u.User != nil:
		return errors.New("an address with a user name or password in it is not sent anywhere")
	case oddNumber(host):
		return fmt.Errorf("%q is an odd way to write a numeric address; write it as four decimal numbers", host)
	}
	return nil
}

// oddNumber reports whether some resolvers read a host as an IPv4 address and others as a
// name: 127.1, 0x7f.0.0.1, 2130706433, 0177.0.0.1.
func oddNumber(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := labels[len(labels)-1] // no top-level domain is a number
	if _, err := strconv.ParseUint(last, 10, 64); err == nil {
		return true
	}
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil
}
