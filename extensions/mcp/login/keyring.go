package login

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/zalando/go-keyring"
)

// service names the entries in the system's store.
const service = "hermes-ls MCP login"

// secretPart is the part of an entry in the system's store.
type secretPart struct {
	Tokens Tokens
	Secret string
}

// toKeyring moves the secrets of an entry to the system's store.
func toKeyring(resource string, e *Entry) error {
	part := secretPart{e.Tokens, e.Client.Secret}
	e.Tokens, e.Client.Secret = Tokens{}, ""
	if part == (secretPart{}) {
		if err := keyring.Delete(service, resource); err != nil && !errors.Is(err, keyring.ErrNotFound) {
			return noKeyring(err)
		}
		return nil
	}
	data, err := json.Marshal(part)
	if err != nil {
		return err
	}
	if err := keyring.Set(service, resource, string(data)); err != nil {
		return noKeyring(err)
	}
	return nil
}

func (s *Store) fromKeyring(resource string, e *Entry) error {
	text, err := keyring.Get(service, resource)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	if err != nil {
		return noKeyring(err)
	}
	var part secretPart
	if err := json.Unmarshal([]byte(text), &part); err != nil {
		return err
	}
	e.Tokens, e.Client.Secret = part.Tokens, part.Secret
	return nil
}

func noKeyring(err error) error {
	return fmt.Errorf("the system's store for passwords does not work (%w). Set mcp.token_store to file, or start the store", err)
}
