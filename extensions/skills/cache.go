package skills

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// cache holds the frontmatters of earlier calls. The file is below $HERMES_HOME/cache.
//
// It begins with the number of records and an index, sorted by the hash of the path: hash, offset
// and length of each record. A record is an encoded [cached]. A search reads only the needed
// records, each separately, because its garbage stays in memory until the first garbage collection.
type cache struct {
	path  string
	file  *os.File // nil: there is none
	index []byte
	used  []bool   // records found by the search
	added [][]byte // records that replace the file's
	head  [4 << 10]byte
	none  *Meta // of skills with an empty Meta; it is not in the cache, which would stay in memory with it
}

type cached struct {
	Path  string
	Time  uint64 // nanoseconds since 1970
	Size  uint64
	Text  string // the description
	Error string
	Tags  string
	Meta  *Meta // nil: it is empty
}

const (
	cacheVersion = "skills-8"

	countBytes   = 4
	entryBytes   = 16 // of the index
	largestCache = 16 << 20
)

// newCache returns an empty cache, which is not stored.
func newCache() *cache { return &cache{none: &Meta{}} }

// openCache opens the cache of a home directory. If the file is broken, it is made again. The caller closes the cache.
func openCache(home string) *cache {
	c := newCache()
	c.path = filepath.Join(home, "cache", cacheVersion)
	f, info, err := safefile.Open(c.path)
	if err != nil {
		return c
	}
	c.file = f
	n, err := f.ReadAt(c.head[:countBytes], 0)
	count := int64(binary.LittleEndian.Uint32(c.head[:]))
	if err != nil || n < countBytes || info.Size() > largestCache || countBytes+count*entryBytes > info.Size() {
		return c
	}
	index := make([]byte, count*entryBytes)
	if _, err := f.ReadAt(index, countBytes); err == nil {
		c.index, c.used = index, make([]bool, count)
	}
	return c
}

func (c *cache) close() {
	if c.file != nil {
		_ = c.file.Close() // only read
	}
	c.file = nil
}

func hashOf[T string | []byte](path T) uint64 {
	hash := uint64(14695981039346656037) // FNV-1a
	for i := range len(path) {
		hash = (hash ^ uint64(path[i])) * 1099511628211
	}
	return hash
}

// record reads the record at a place of the index. It is valid until the next call. If it cannot be read, record returns nil.
func (c *cache) record(at int) []byte {
	entry := c.index[at*entryBytes:]
	offset, size := binary.LittleEndian.Uint32(entry[8:]), binary.LittleEndian.Uint32(entry[12:])
	data := c.head[:]
	if size > uint32(len(data)) {
		data = make([]byte, min(size, largestCache))
	}
	data = data[:min(int(size), len(data))]
	if _, err := c.file.ReadAt(data, int64(offset)); err != nil {
		return nil
	}
	return data
}

// skill returns the skill in a file, from the cache if the file has not changed.
func (c *cache) skill(file, dir string, info fs.FileInfo) *Skill {
	changed, size := uint64(info.ModTime().UnixNano()), uint64(info.Size())
	e, ok := c.stored(file, changed, size)
	if !ok {
		e = c.read(file, dir)
		e.Path, e.Time, e.Size = file, changed, size
		c.added = append(c.added, e.append(make([]byte, 0, 64+len(e.Path)+len(e.Text))))
	}
	return &Skill{Name: dir, Description: e.Text, Problem: e.Error, Tags: e.Tags, Meta: cmp.Or(e.Meta, c.none)}
}

// stored returns the entry of a file. If there is none for this time and size, it returns false.
func (c *cache) stored(file string, changed, size uint64) (e cached, ok bool) {
	hash := hashOf(file)
	hashAt := func(i int) uint64 { return binary.LittleEndian.Uint64(c.index[i*entryBytes:]) }
	at := sort.Search(len(c.used), func(i int) bool { return hashAt(i) >= hash })
	if at == len(c.used) || hashAt(at) != hash {
		return cached{}, false
	}
	d := decoder{data: c.record(at)}
	if string(d.bytes()) != file {
		return cached{}, false
	}
	c.used[at] = true
	if d.number() != changed || d.number() != size {
		return cached{}, false
	}
	e = cached{Text: d.text(), Error: d.text(), Tags: d.text()}
	if len(d.data) > 0 {
		e.Meta = &Meta{}
		e.Meta.decode(&d)
	}
	return e, !d.broken
}

// read reads a SKILL.md. If its frontmatter ends in the first 4 KB, it reads no more.
func (c *cache) read(file, dir string) cached {
	s, err := c.parseHead(file, dir)
	if err != nil {
		data, err := safefile.Read(file, largestSkill)
		if err != nil {
			return cached{Error: "it cannot be read: " + err.Error()}
		}
		if s, _, err = parse(data, dir); err != nil {
			return cached{Text: s.Description, Error: err.Error()}
		}
	}
	return cached{Text: s.Description, Tags: s.Tags, Meta: s.Meta}
}

// parseHead reads a SKILL.md whose frontmatter ends in the first 4 KB. For any other file, it returns an error, which is not for
// users: the caller reads the whole file.
func (c *cache) parseHead(file, dir string) (s Skill, err error) {
	f, info, err := safefile.Open(file)
	if err != nil {
		return s, err
	}
	defer f.Close() // only read
	if info.Size() > largestSkill {
		return s, safefile.ErrTooLarge
	}
	n, err := io.ReadFull(f, c.head[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return s, err
	}
	head := c.head[:n]
	line := bytes.Index(head, []byte("\n---")) + 1
	end := bytes.IndexByte(head[line:], '\n')
	if line == 0 || end < 0 {
		return s, io.ErrUnexpectedEOF
	}
	s, _, err = parse(head[:line+end+1], dir)
	return s, err
}

// save stores the used entries, if any is new. If it fails, the next process reads the files again.
func (c *cache) save(ctx context.Context) {
	if len(c.added) == 0 {
		return
	}
	unlock, err := filelock.Lock(ctx, c.path+".lock")
	if err != nil {
		return
	}
	defer unlock()
	all, crowded := c.added, len(c.added)+len(c.used) > 2*maxSkills
	for i, used := range c.used {
		if r := c.record(i); r != nil && (used || !crowded) { // the others are of other workspaces
			all = append(all, bytes.Clone(r))
		}
	}
	slices.SortStableFunc(all, byHash)
	all = slices.CompactFunc(all, func(a, b []byte) bool { return byHash(a, b) == 0 }) // keeps the added records
	at := countBytes + len(all)*entryBytes
	size := at
	for _, r := range all {
		size += len(r)
	}
	data := make([]byte, 0, size)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(all)))
	for _, r := range all {
		data = binary.LittleEndian.AppendUint64(data, recordHash(r))
		data = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(data, uint32(at)), uint32(len(r)))
		at += len(r)
	}
	for _, r := range all {
		data = append(data, r...)
	}
	c.close() // Windows does not replace an open file
	dir, err := safefile.OpenFolder(filepath.Dir(c.path))
	if err != nil {
		return
	}
	defer dir.Close() // only read
	_ = dir.Write(filepath.Base(c.path), data, 0o600)
}

// recordHash returns the hash of the path, which is the first field.
func recordHash(record []byte) uint64 {
	d := decoder{data: record}
	return hashOf(d.bytes())
}

func byHash(a, b []byte) int { return cmp.Compare(recordHash(a), recordHash(b)) }

func (e *cached) append(b []byte) []byte {
	b = appendBytes(b, e.Path)
	b = binary.AppendUvarint(binary.AppendUvarint(b, e.Time), e.Size)
	b = appendBytes(appendBytes(appendBytes(b, e.Text), e.Error), e.Tags)
	if e.Meta == nil || e.Meta.empty() {
		return b
	}
	return e.Meta.append(b)
}

// lists are the fields of a Meta with many texts.
func (m *Meta) lists() [6]*[]string {
	return [...]*[]string{&m.Platforms, &m.Environment, &m.RequiresToolsets, &m.RequiresTools, &m.FallbackToolsets, &m.FallbackTools}
}

func (m *Meta) bools() [2]*bool { return [...]*bool{&m.NotForModel, &m.NotForUser} }

func (m *Meta) empty() bool {
	for _, list := range m.lists() {
		if len(*list) > 0 {
			return false
		}
	}
	return len(m.Config) == 0 && m.Hint == "" && !m.NotForModel && !m.NotForUser
}

func (m *Meta) append(b []byte) []byte {
	for _, list := range m.lists() {
		b = binary.AppendUvarint(b, uint64(len(*list)))
		for _, text := range *list {
			b = appendBytes(b, text)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(m.Config)))
	for _, k := range m.Config {
		b = appendBytes(appendBytes(b, k.Name), k.Default)
	}
	for _, v := range m.bools() {
		if b = append(b, 0); *v {
			b[len(b)-1] = 1
		}
	}
	return appendBytes(b, m.Hint)
}

func (m *Meta) decode(d *decoder) {
	for _, list := range m.lists() {
		n := d.number()
		if n == 0 || n > uint64(len(d.data)) {
			d.broken = d.broken || n > 0
			continue
		}
		*list = make([]string, n)
		for i := range *list {
			(*list)[i] = d.text()
		}
	}
	for range d.number() {
		if m.Config = append(m.Config, Key{d.text(), d.text()}); d.broken {
			return
		}
	}
	for _, v := range m.bools() {
		*v = d.number() == 1
	}
	m.Hint = d.text()
}

func appendBytes[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// decoder reads the output of append. After an error, broken is true, and all values are zero.
type decoder struct {
	data   []byte
	broken bool
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.data)
	if size <= 0 {
		d.data, d.broken = nil, true
		return 0
	}
	d.data = d.data[size:]
	return n
}

func (d *decoder) bytes() []byte {
	n := d.number()
	if n > uint64(len(d.data)) {
		d.data, d.broken = nil, true
		return nil
	}
	var b []byte
	b, d.data = d.data[:n], d.data[n:]
	return b
}

func (d *decoder) text() string { return string(d.bytes()) }
