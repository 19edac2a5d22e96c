package models

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/client"
)

// The file of lists can be read again: the oldest lists are left out of a longer one.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	var models []client.Listed
	for i := range 2000 {
		models = append(models, client.Listed{ID: fmt.Sprint(strings.Repeat("i", 190), i), Price: &client.Price{Input: 0.123456789, Output: 1.23456789}})
	}
	c := lists{Version: 1, Providers: map[string]providerList{}, Used: []string{"p/m"}}
	for i := range 12 {
		c.Providers[fmt.Sprint("p", i)] = providerList{time.Unix(int64(1000*i), 0), models}
	}
	data, err := c.encode()
	if err != nil || len(data) >= listsLimit {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	var got lists
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if _, oldest := got.Providers["p0"]; oldest || len(got.Providers) < 4 || got.Providers["p11"].Models == nil || len(got.Used) != 1 {
		t.Errorf("%d lists, the oldest is one: %v", len(got.Providers), oldest)
	}
}
