package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzImport imports any file. Each record is written as it was read.
func FuzzImport(f *testing.F) {
	f.Add([]byte(`{"record":"session","version":1,"id":"x","tools":"[{\"name\":\"t\",\"schema\":{}}]","createdAt":"2026-01-02T03:04:05.000006Z"}` + "\n" +
		`{"record":"message","id":"m","role":"user","text":{"base64":"/w=="},"calls":[{"id":"1","args":"{}"}],"usage":{"input":1}}`))
	f.Add([]byte("\n\n" + `{"record":"message","id":"m","role":"tool","shown":"[]"}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		in := &transfer{lines: bufio.NewReader(bytes.NewReader(file))}
		for {
			head, log, err := in.next()
			if err != nil {
				return
			}
			var out bytes.Buffer
			records := []any{recordOf(head)}
			for _, m := range log {
				records = append(records, m.record())
			}
			for _, r := range records {
				if err := json.NewEncoder(&out).Encode(r); err != nil {
					return // JSON dates cannot hold this year
				}
			}
			again := &transfer{lines: bufio.NewReader(&out)}
			head2, log2, err := again.next()
			if err != nil || !reflect.DeepEqual(recordOf(head), recordOf(head2)) || len(log) != len(log2) {
				t.Fatalf("%+v\n%+v\n%v", head, head2, err)
			}
			for i := range log {
				if !reflect.DeepEqual(log[i].record(), log2[i].record()) {
					t.Fatalf("%+v\n%+v", log[i], log2[i])
				}
			}
		}
	})
}
