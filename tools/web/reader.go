package web

import (
	"context"
	"errors"

	"github.com/hermes-ls/hermes-ls/internal/fetch"
)

// Reader reads pages named by the user, by the rules of web_extract.
type Reader struct{ x *extractor }

// NewReader returns a reader of a session.
func NewReader(c Config) Reader {
	return Reader{&extractor{secrets: c.Secrets, client: fetch.New(fetch.Options{AllowPrivate: c.AllowPrivate, Version: c.Version})}}
}

// Fetch returns the content of an address. It returns the errors of Read.
func (r Reader) Fetch(ctx context.Context, address string) ([]byte, error) {
	if refusal, found := refuseSecret(r.x.secrets, address); found {
		return nil, errors.New("the address was not asked for: " + refusal)
	}
	defer r.x.client.Rest()
	body, err := r.x.client.Get(ctx, address)
	if err != nil {
		return nil, err
	}
	return body.Data, nil
}

// Read returns the title and the text of a page. If the address holds a secret, or is not
// reached, it returns an error.
func (r Reader) Read(ctx context.Context, address string) (title, text string, err error) {
	if refusal, found := refuseSecret(r.x.secrets, address); found {
		return "", "", errors.New("the address was not asked for: " + refusal)
	}
	defer r.x.client.Rest()
	p, err := r.x.page(ctx, address)
	if err != nil {
		return "", "", err
	}
	return p.Title, dataMark + p.Text, nil
}
