// Package secure provides the TLS settings of connections to MCP servers.
package secure

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// Config returns how connections to a server are checked. verify is true, false or a file with
// authorities. files holds the client certificate: a PEM file with certificate and key, or two
// files and the password of the key. If both are empty, Config returns nil.
func Config(verify string, files []string) (*tls.Config, error) {
	if verify == "" && len(files) == 0 {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	switch verify {
	case "", "true":
	case "false":
		c.InsecureSkipVerify = true // the user has set it
	default:
		text, err := textfile.Read(verify, largestPEM)
		if err != nil {
			return nil, fmt.Errorf("ssl_verify: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("ssl_verify: %s has no certificate", verify)
		}
	}
	if len(files) == 0 {
		return c, nil
	}
	certificate, err := read(files)
	if err != nil {
		return nil, fmt.Errorf("client_cert: %w", err)
	}
	c.Certificates = []tls.Certificate{certificate}
	return c, nil
}

const largestPEM = 1 << 20

// read reads the client certificate.
func read(files []string) (tls.Certificate, error) {
	cert, err := textfile.Read(files[0], largestPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	key := cert
	if len(files) > 1 {
		if key, err = textfile.Read(files[1], largestPEM); err != nil {
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
	//lint:ignore SA1019 the setting is for keys of this format
	if !x509.IsEncryptedPEMBlock(block) {
		return nil, fmt.Errorf("a key of the kind %q cannot be decrypted. Store it without a password", block.Type)
	}
	//lint:ignore SA1019 as above
	data, err := x509.DecryptPEMBlock(block, []byte(password))
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: data}), nil
}
