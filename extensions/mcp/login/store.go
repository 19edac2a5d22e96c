package login

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Places of tokens.
const (
	File    = "file"
	Keyring = "keyring"
)

// Dir is the directory below $HERMES_HOME.
const Dir = "mcp-auth"

// Store keeps tokens and registrations.
type Store struct {
	dir     string
	keyring bool
}

// Open returns the store of home. place is File or Keyring; empty: File. Open reads nothing.
func Open(home, place string) *Store {
	return &Store{dir: filepath.Join(home, Dir), keyring: place == Keyring}
}

// Tokens are from an authorization server.
type Tokens struct {
	Access  string    `json:"access_token,omitempty"`
	Refresh string    `json:"refresh_token,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	Since   time.Time `json:"since,omitzero"`
}

// Client is a client registered at an issuer.
type Client struct {
	ID       string    `json:"client_id"`
	Secret   string    `json:"client_secret,omitempty"`
	Method   string    `json:"token_endpoint_auth_method,omitempty"`
	Redirect string    `json:"redirect_uri,omitempty"`
	Expires  time.Time `json:"secret_expires,omitzero"`
	Dynamic  bool      `json:"dynamic,omitempty"` // registered by hermes-ls
	Scopes   []string  `json:"scopes,omitempty"`  // it was registered with; an authorization server may reject others
}

// Entry is the content of a file.
type Entry struct {
	URL        string            `json:"url"`
	Resource   string            `json:"resource,omitempty"` // from the server's metadata
	Issuer     string            `json:"issuer,omitempty"`
	Scopes     []string          `json:"scopes,omitempty"`
	Wanted     []string          `json:"wanted_scopes,omitempty"` // missing scopes of a call; requested by the next login
	TokenURL   string            `json:"token_endpoint,omitempty"`
	RevokeURL  string            `json:"revocation_endpoint,omitempty"`
	Client     Client            `json:"client,omitzero"`
	Tokens     Tokens            `json:"tokens,omitzero"`
	Registered map[string]Client `json:"registered,omitempty"` // by issuer
}

// key names the file of a resource: its host, for users to find it, and a part of its sha256.
func key(resource string) string {
	sum := sha256.Sum256([]byte(resource))
	host := ""
	if u, err := url.Parse(resource); err == nil {
		host = strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
				return r
			}
			return '_'
		}, u.Host)
	}
	return safefile.NameOf(strings.TrimLeft(host, ".-_")[:min(len(strings.TrimLeft(host, ".-_")), 60)] + "-" + hex.EncodeToString(sum[:12]))
}

func (s *Store) path(resource string) string { return filepath.Join(s.dir, key(resource)+".json") }

// lock locks the file of a resource.
func (s *Store) lock(ctx context.Context, resource string) (func(), error) {
	return filelock.Lock(ctx, filepath.Join(s.dir, key(resource)+".lock"))
}

// read returns the entry of a resource. If there is none, it returns an empty entry.
func (s *Store) read(resource string) (Entry, error) {
	e := Entry{URL: resource}
	data, err := safefile.Read(s.path(resource), safefile.Settings)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return e, fmt.Errorf("%s: %w", s.path(resource), err)
	}
	if e.URL != resource {
		return Entry{URL: resource}, fmt.Errorf("%s belongs to another server", s.path(resource))
	}
	if s.keyring {
		return e, fromKeyring(resource, &e)
	}
	return e, nil
}

// write replaces the entry of a resource atomically.
func (s *Store) write(resource string, e Entry) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(s.dir, 0o700); err != nil {
		return err
	}
	if s.keyring {
		if err := toKeyring(resource, &e); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	folder, err := safefile.OpenFolder(s.dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Write(filepath.Base(s.path(resource)), append(data, '\n'), 0o600)
}

// Entry returns the entry of the server at an address.
func (s *Store) Entry(address string) (Entry, error) {
	resource, err := Resource(address)
	if err != nil {
		return Entry{}, err
	}
	return s.read(resource)
}

// Changed reports whether the file of the server at an address has changed since a time.
func (s *Store) Changed(address string, since time.Time) bool {
	resource, err := Resource(address)
	if err != nil {
		return false
	}
	info, err := os.Stat(s.path(resource))
	return err == nil && info.ModTime().After(since)
}

// All returns the entries with tokens.
func (s *Store) All() (all []Entry, err error) {
	files, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".json" {
			continue
		}
		data, err := safefile.Read(filepath.Join(s.dir, f.Name()), safefile.Settings)
		if err != nil {
			continue // removed meanwhile, or no file of ours
		}
		var e Entry
		if json.Unmarshal(data, &e) == nil && e.URL != "" {
			if e, err = s.read(e.URL); err == nil && e.Tokens != (Tokens{}) {
				all = append(all, e)
			}
		}
	}
	return all, nil
}

// Secrets returns the stored tokens for redaction.
func (s *Store) Secrets() map[string]string {
	found := map[string]string{}
	all, _ := s.All() // an unreadable file has no known secret
	for _, e := range all {
		for name, value := range map[string]string{"access token": e.Tokens.Access, "refresh token": e.Tokens.Refresh, "client secret": e.Client.Secret} {
			if value != "" {
				found[e.URL+" "+name] = value
			}
		}
	}
	return found
}
