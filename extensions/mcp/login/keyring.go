package login

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/zalando/go-keyring"
)

// service names the entries in the system's store.
const service = "hermes-ls MCP login"

// answerTime is how long the system's store can take. It may ask the user to unlock it.
const answerTime = 30 * time.Second

// secretPart is the part of an entry in the system's store.
type secretPart struct {
	Tokens     Tokens            `json:"tokens,omitzero"`
	Secret     string            `json:"secret,omitempty"`     // of the client
	Registered map[string]string `json:"registered,omitempty"` // secrets of registered clients, by issuer
}

// toKeyring moves the secrets of an entry to the system's store.
func toKeyring(resource string, e *Entry) error {
	part := secretPart{Tokens: e.Tokens, Secret: e.Client.Secret}
	registered := map[string]Client{}
	for issuer, client := range e.Registered {
		if client.Secret != "" {
			if part.Registered == nil {
				part.Registered = map[string]string{}
			}
			part.Registered[issuer] = client.Secret
		}
		client.Secret = ""
		registered[issuer] = client
	}
	e.Tokens, e.Client.Secret, e.Registered = Tokens{}, "", registered
	_, err := answered(func() (string, error) {
		if reflect.ValueOf(part).IsZero() {
			err := keyring.Delete(service, resource)
			if errors.Is(err, keyring.ErrNotFound) {
				err = nil
			}
			return "", err
		}
		data, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		return "", keyring.Set(service, resource, string(data))
	})
	return err
}

func fromKeyring(resource string, e *Entry) error {
	text, err := answered(func() (string, error) { return keyring.Get(service, resource) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var part secretPart
	if err := json.Unmarshal([]byte(text), &part); err != nil {
		return err
	}
	e.Tokens, e.Client.Secret = part.Tokens, part.Secret
	for issuer, secret := range part.Registered {
		if client, ok := e.Registered[issuer]; ok {
			client.Secret = secret
			e.Registered[issuer] = client
		}
	}
	return nil
}

// answered calls the system's store. If it does not answer in time, answered returns an error,
// and the call goes on alone: the library cannot cancel it.
func answered(call func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	c := make(chan answer, 1)
	go func() {
		text, err := call()
		c <- answer{text, err}
	}()
	select {
	case a := <-c:
		if a.err != nil {
			return "", fmt.Errorf("the system's store for passwords does not work (%w). Set mcp.token_store to file, or start the store", a.err)
		}
		return a.text, nil
	case <-time.After(answerTime):
		return "", fmt.Errorf("the system's store for passwords did not answer within %v. Unlock it, or set mcp.token_store to file", answerTime)
	}
}
