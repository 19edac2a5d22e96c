package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

func add(t testing.TB, s *store.Store, id string, m *store.Message) *store.Message {
	t.Helper()
	if err := s.Append(t.Context(), id, m); err != nil {
		t.Fatal(err)
	}
	return m
}

func find(t testing.TB, s *store.Store, q store.Query) (found []string) {
	t.Helper()
	hits, err := s.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		found = append(found, fmt.Sprintf("%s %d: %s", h.Session.Title, h.Seq, strings.NewReplacer(store.Mark, "[", store.EndMark, "]").Replace(h.Snippet)))
	}
	return found
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s := open(t)
	a := create(t, s, store.Session{Title: "A", Cwd: "/a", Notes: "remember the milk"}).ID
	b := create(t, s, store.Session{Title: "B", Cwd: "/b"}).ID
	attached := said(model.User, "Please mend the parser. func attached() {}")
	attached.Typed = len("Please mend the parser.")
	add(t, s, a, attached)
	add(t, s, a, said(model.Assistant, "The parser fails on “naïve” input: index_out_of_range."))
	add(t, s, a, said(model.ToolRole, `{"content":"zebra"}`))
	note := said(model.User, "a note about zebras")
	note.Note = true
	add(t, s, a, note)
	add(t, s, b, said(model.User, "why is the parser slow?"))
	add(t, s, b, said(model.Assistant, "構文解析器が遅いです。 DROP TABLE; it's \"quoted\" -- here"))
	for query, want := range map[store.Query][]string{
		{Text: "parser"}:                   {"A 1: Please mend the [parser].", "A 2: The [parser] fails on “naïve” input: index_out_of_range.", "B 1: why is the [parser] slow?"},
		{Text: "PARS mend"}:                {"A 1: Please [mend] the [parser]."},
		{Text: "parser", Cwd: "/b"}:        {"B 1: why is the [parser] slow?"},
		{Text: "parser", Without: a}:       {"B 1: why is the [parser] slow?"},
		{Text: "parser", Session: b}:       {"B 1: why is the [parser] slow?"},
		{Text: `"the parser fails"`}:       {"A 2: [The parser fails] on “naïve” input: index_out_of_range."},
		{Text: "naive"}:                    {"A 2: The parser fails on “[naïve]” input: index_out_of_range."},
		{Text: "out_of_range"}:             {"A 2: The parser fails on “naïve” input: index_[out_of_range]."},
		{Text: "mend milk", Session: b}:    nil,
		{Text: "slow giraffe"}:             {"B 1: why is the parser [slow]?"}, // no message contains both
		{Text: "zebra"}:                    nil,
		{Text: "attached"}:                 nil,
		{Text: "milk"}:                     {"A 0: A · remember the milk"},
		{Text: "解析器"}:                      {"B 2: 構文[解析器]が遅いです。 DROP TABLE; it's \"quoted\" -- here"},
		{Text: "drop OR AND NOT table*(^"}: {"B 2: 構文解析器が遅いです。 [DROP] [TABLE]; it's \"quoted\" -- here"},
	} {
		got := find(t, s, query)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %q, want %q", query, got, want)
		}
	}
	for _, text := range []string{"", "  ", `""`, "-- ;"} {
		if _, err := s.Search(t.Context(), store.Query{Text: text}); !errors.Is(err, store.ErrEmptyQuery) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := s.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if got := find(t, s, store.Query{Text: "parser"}); len(got) != 1 {
		t.Errorf("after deleting A: %q", got)
	}
}

// TestSearchBranches searches branches with shared messages. A single hit is enough.
func TestSearchBranches(t *testing.T) {
	t.Parallel()
	s := open(t)
	x := create(t, s, store.Session{Title: "old"})
	add(t, s, x.ID, said(model.User, "shared words"))
	add(t, s, x.ID, said(model.User, "later words"))
	fork := store.Session{ID: store.NewID(), Title: "fork", Parent: x.ID, Root: x.ID}
	if err := s.Fork(t.Context(), x.ID, 1, fork, []*store.Message{said(model.Assistant, "words of the fork")}); err != nil {
		t.Fatal(err)
	}
	back := store.Session{ID: store.NewID(), Title: "branch", Parent: x.ID, Root: x.ID}
	if err := s.Rewind(t.Context(), x.ID, 1, back, nil); err != nil {
		t.Fatal(err)
	}
	got := find(t, s, store.Query{Text: "words"})
	slices.Sort(got)
	if want := []string{"branch 2: later [words]", "fork 2: [words] of the fork", "old 1: shared [words]"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if err := s.Delete(t.Context(), x.ID); err != nil {
		t.Fatal(err)
	}
	if got := find(t, s, store.Query{Text: "shared"}); len(got) != 1 || !strings.Contains(got[0], "shared") {
		t.Errorf("after deleting the oldest: %q", got)
	}
}

// TestAnyHistory runs any sequence of writes, deletions, forks and rewinds. Search then finds
// the stored messages, the sums match the log, and the index matches the file.
func TestAnyHistory(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(t.TempDir(), store.FileName)
		s := store.New(path, store.Options{})
		defer s.Close()
		ctx := t.Context()
		var ids []string
		one := func(rt *rapid.T) string {
			if len(ids) == 0 {
				rt.Skip("no session")
			}
			return rapid.SampledFrom(ids).Draw(rt, "session")
		}
		check := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		cut := func(rt *rapid.T, id string) (int64, store.Session) {
			head, err := s.Session(ctx, id)
			check(err)
			ids = append(ids, store.NewID())
			return int64(rapid.IntRange(0, head.Messages).Draw(rt, "seq")), store.Session{ID: ids[len(ids)-1], Parent: id, Root: id}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"create": func(rt *rapid.T) {
				ids = append(ids, store.NewID())
				check(s.Create(ctx, store.Session{ID: ids[len(ids)-1]}))
			},
			"append": func(rt *rapid.T) {
				id := one(rt)
				for range rapid.IntRange(1, 70).Draw(rt, "messages") {
					m := said(rapid.SampledFrom([]model.Role{model.User, model.Assistant, model.ToolRole}).Draw(rt, "role"), "needle "+rapid.String().Draw(rt, "text"))
					m.Note = rapid.Bool().Draw(rt, "note")
					if m.Role == model.Assistant {
						m.Usage = &model.Usage{Input: 3, Cost: 0.5}
					}
					check(s.Append(ctx, id, m))
				}
			},
			"fork": func(rt *rapid.T) {
				id := one(rt)
				seq, head := cut(rt, id)
				check(s.Fork(ctx, id, seq, head, []*store.Message{said(model.Assistant, "needle")}))
			},
			"rewind": func(rt *rapid.T) {
				id := one(rt)
				seq, head := cut(rt, id)
				check(s.Rewind(ctx, id, seq, head, nil))
			},
			"delete": func(rt *rapid.T) {
				id := one(rt)
				check(s.Delete(ctx, id))
				ids = slices.DeleteFunc(ids, func(x string) bool { return x == id })
			},
			"search": func(rt *rapid.T) { searchAgrees(t, rt, s, ids) },
		})
		searchAgrees(t, rt, s, ids)
		check(s.Close())
		db, err := sql.Open("sqlite", path)
		check(err)
		defer db.Close()
		_, err = db.Exec("INSERT INTO words (words, rank) VALUES ('integrity-check', 0)")
		check(err)
	})
}

// searchAgrees compares search and sums with the logs.
func searchAgrees(t *testing.T, rt *rapid.T, s *store.Store, ids []string) {
	want := map[string]bool{}
	for _, id := range ids {
		log, err := s.Messages(t.Context(), id, 0, 0)
		if err != nil {
			rt.Fatal(err)
		}
		sums := store.Totals{Messages: len(log)}
		for _, m := range log {
			if (m.Role == model.User || m.Role == model.Assistant) && !m.Note {
				want[m.ID] = true
			}
			if m.Usage != nil {
				sums.Requests++
				sums.Usage.Input += m.Usage.Input
				sums.Usage.Cost += m.Usage.Cost
			}
		}
		got, err := s.Totals(t.Context(), id)
		sums.Rewinds = got.Rewinds
		if err != nil || got != sums {
			rt.Fatalf("totals %+v, log %+v, %v", got, sums, err)
		}
	}
	hits, err := s.Search(t.Context(), store.Query{Text: "needle", Limit: 1 << 20})
	if err != nil {
		rt.Fatal(err)
	}
	for _, h := range hits {
		if !want[h.MessageID] {
			rt.Fatalf("found %+v", h)
		}
		delete(want, h.MessageID)
	}
	if len(want) > 0 {
		rt.Fatalf("%d of %d messages were not found", len(want), len(want)+len(hits))
	}
}

// TestExcerpts checks excerpts: they show the part with the most matches, with the words of the
// index.
func TestExcerpts(t *testing.T) {
	t.Parallel()
	s := open(t)
	x := create(t, s, store.Session{Title: "T"})
	filler := strings.Repeat("so on ", 30)
	add(t, s, x.ID, said(model.User, "Cafe "+filler+"the Café's TABLES are réservés, "+filler))
	for query, want := range map[string]string{
		"cafe reserves":  "…on so on so on the [Café]'s TABLES are [réservés], so",
		`"tables are"`:   "on so on the Café's [TABLES are] réservés",
		"café":           "[Cafe] so on",
		"reserv":         "are [réservés], so on",
		"tables nothing": "the Café's [TABLES] are",
	} {
		if got := find(t, s, store.Query{Text: query}); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: %q; want %q", query, got, want)
		}
	}
}
