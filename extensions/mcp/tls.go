package mcp

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// tlsSettings returns how connections to the server are checked. If nothing is set, it returns
// nil.
func (s *Server) tlsSettings() (*tls.Config, error) {
	if s.Verify == "" && len(s.Certificate) == 0 {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	switch s.Verify {
	case "", "true":
	case "false":
		c.InsecureSkipVerify = true //nolint:gosec // the user has set it
	default:
		text, err := safefile.Read(s.Verify, largestPEM)
		if err != nil {
			return nil, fmt.Errorf("ssl_verify: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("ssl_verify: %s has no certificate", s.Verify)
		}
	}
	if len(s.Certificate) == 0 {
		return c, nil
	}
	certificate, err := s.certificate()
	if err != nil {
		return nil, fmt.Errorf("client_cert: %w", err)
	}
	c.Certificates = []tls.Certificate{certificate}
	return c, nil
}

const largestPEM = 1 << 20

// certificate reads the client certificate: a file with certificate and key, or two files and
// the password of the key.
func (s *Server) certificate() (tls.Certificate, error) {
	files := s.Certificate
	cert, err := safefile.Read(files[0], largestPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	key := cert
	if len(files) > 1 {
		if key, err = safefile.Read(files[1], largestPEM); err != nil {
			return tls.Certificate{}, err
		}
	}
	if len(files) > 2 {
		if key, err = decrypted(key, files[2]); err != nil {
			return tls.Certificate{}, err
		}
	}
	return tls.X509KeyPair(cert, key)
}

// decrypted returns a PEM key without its password.
func decrypted(key []byte, password string) ([]byte, error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, errors.New("the key is no PEM file")
	}
	if !x509.IsEncryptedPEMBlock(block) { //nolint:staticcheck // the format that the setting is for
		return nil, fmt.Errorf("a key of the kind %q cannot be decrypted. Store it without a password", block.Type)
	}
	data, err := x509.DecryptPEMBlock(block, []byte(password)) //nolint:staticcheck // the same
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: data}), nil
}
