package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"
)

// file is a file in an archive.
type file struct {
	name string // with slashes
	data []byte
	exec bool
}

func (f file) mode() os.FileMode {
	if f.exec {
		return 0o755
	}
	return 0o644
}

// archive is a packed program.
type archive struct {
	Name string // of the file
	Sum  string // SHA-256, in hexadecimal digits
}

// archives packs the program of each platform with the shared files.
func (r *release) archives() error {
	r.Archives = map[string]archive{}
	for _, b := range r.builds {
		files := append([]file{{name: b.exe(), data: b.data, exec: true}}, r.shared...)
		stem := "hermes-ls-" + r.Version + "-" + b.OS + "-" + b.Arch
		for i := range files {
			files[i].name = stem + "/" + files[i].name
		}
		name, pack := stem+".tar.gz", tarball
		if b.OS == "windows" {
			name, pack = stem+".zip", zipped
		}
		data, err := pack(files, r.date)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		r.Archives[b.OS+"_"+b.Arch] = archive{Name: name, Sum: hex.EncodeToString(sum[:])}
		if err := r.write(name, data); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file of the release.
func (r *release) write(name string, data []byte) error {
	path := r.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// tarball packs files as a .tar.gz.
func tarball(files []file, date time.Time) ([]byte, error) {
	var b bytes.Buffer
	zw, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(zw)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Size: int64(len(f.data)), Mode: int64(f.mode()), ModTime: date, Format: tar.FormatUSTAR}
		if err := tw.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := tw.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	err = zw.Close()
	return b.Bytes(), err
}

// zipped packs files as a .zip.
func zipped(files []file, date time.Time) ([]byte, error) {
	var b bytes.Buffer
	zw := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: date}
		h.SetMode(f.mode())
		w, err := zw.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := zw.Close()
	return b.Bytes(), err
}
