package picture

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// shown are the PNG chunks that affect the appearance of the picture.
var shown = []string{"IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA", "cHRM", "sRGB", "sBIT", "pHYs", "bKGD"}

// cleanPNG returns a PNG without metadata, and its EXIF data. If the PNG is broken, clean is nil.
// If it has no metadata, clean is data.
func cleanPNG(data []byte) (clean, exif []byte) {
	at := 8
	clean = slices.Clone(data[:at])
	for at+12 <= len(data) {
		size := int64(binary.BigEndian.Uint32(data[at:])) + 12
		if size > int64(len(data)-at) {
			return nil, exif
		}
		chunk := data[at : at+int(size)]
		name := string(chunk[4:8])
		if slices.Contains(shown, name) {
			clean = append(clean, chunk...)
		}
		if name == "eXIf" {
			exif = chunk[8 : len(chunk)-4]
		}
		if at += int(size); name == "IEND" {
			return clean, exif
		}
	}
	return nil, exif
}

// cleanJPEG returns a JPEG without metadata, and its EXIF data. If the JPEG is broken, clean is
// nil. If it has no metadata, clean is data.
func cleanJPEG(data []byte) (clean, exif []byte) {
	at := 2
	clean = slices.Clone(data[:at])
	for at+4 <= len(data) {
		if data[at] != 0xff {
			return nil, exif
		}
		marker := data[at+1]
		if marker == 0xff { // a fill byte
			at++
			continue
		}
		size := 2 + int(binary.BigEndian.Uint16(data[at+2:]))
		if size < 4 || size > len(data)-at {
			return nil, exif
		}
		segment := data[at : at+size]
		if found, ok := bytes.CutPrefix(segment[4:], []byte("Exif\x00\x00")); ok && marker == 0xe1 && exif == nil {
			exif = found
		}
		jfif := marker == 0xe0 && size == 18 // without a thumbnail
		adobe := marker == 0xee && bytes.HasPrefix(segment[4:], []byte("Adobe"))
		if metadata := marker >= 0xe0 && marker <= 0xef || marker == 0xfe; !metadata || jfif || adobe {
			clean = append(clean, segment...)
		}
		at += size
		if marker != 0xda {
			continue
		}
		end := scanEnd(data, at)
		clean = append(clean, data[at:end]...)
		if at = end; at+2 <= len(data) && data[at+1] == 0xd9 {
			return append(clean, 0xff, 0xd9), exif // anything after it is metadata
		}
	}
	return nil, exif
}

// scanEnd returns the index of the marker after the coded data of a JPEG.
func scanEnd(data []byte, at int) int {
	for ; at+1 < len(data); at++ {
		if next := data[at+1]; data[at] == 0xff && next != 0 && next != 0xff && (next < 0xd0 || next > 0xd7) {
			return at
		}
	}
	return len(data)
}

// firstFrame returns a WebP with only its first frame, and its EXIF data. If the WebP has a single
// frame and no metadata, clean is data, else nil.
func firstFrame(data []byte) (frame, clean, exif []byte) {
	plain := true
	for name, body := range riffChunks(data[12:]) {
		switch name {
		case "VP8 ", "VP8L", "VP8X", "ALPH":
		case "ANMF":
			if plain = false; frame == nil && len(body) > 16 {
				frame = webpOf(body)
			}
		case "EXIF":
			plain, exif = false, bytes.TrimPrefix(body, []byte("Exif\x00\x00"))
		default:
			plain = false
		}
	}
	if int64(len(data)) != 8+int64(binary.LittleEndian.Uint32(data[4:])) {
		plain = false // something follows
	}
	if plain {
		clean = data
	}
	if frame == nil {
		frame = data
	}
	return frame, clean, exif
}

// codedWebP strips everything but the coded pixels of a WebP, so the decoder reports their size. If
// there are none, it returns nil.
func codedWebP(data []byte) []byte {
	for name, body := range riffChunks(data[12:]) {
		if name != "VP8 " && name != "VP8L" {
			continue
		}
		body = body[:min(len(body), 64)] // the size is in its header
		out := []byte("RIFF\x00\x00\x00\x00WEBP" + name)
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(body))), body...)
		binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
		return out
	}
	return nil
}

// webpOf returns a WebP from a frame of an animation: a header of 16 bytes and chunks.
func webpOf(frame []byte) []byte {
	out := []byte("RIFF\x00\x00\x00\x00WEBP")
	for name := range riffChunks(frame[16:]) {
		if name == "ALPH" { // its header must announce it
			out = append(out, "VP8X\x0a\x00\x00\x00\x10\x00\x00\x00"...)
			out = append(out, frame[6:12]...) // width and height
			break
		}
	}
	out = append(out, frame[16:]...)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out
}

// riffChunks yields names and bodies until the first broken chunk.
func riffChunks(data []byte) func(yield func(string, []byte) bool) {
	return func(yield func(string, []byte) bool) {
		for len(data) >= 8 {
			size := int64(binary.LittleEndian.Uint32(data[4:]))
			if size > int64(len(data)-8) || !yield(string(data[:4]), data[8:8+size]) {
				return
			}
			data = data[min(8+size+size&1, int64(len(data))):]
		}
	}
}

// orientation returns the orientation of EXIF data, from 1 to 8. If they have none, it returns 1.
func orientation(exif []byte) int {
	const tag = 0x0112
	if len(exif) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if exif[0] == 'I' {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(exif[4:]))
	if at+2 > int64(len(exif)) {
		return 1
	}
	entries := exif[at+2:]
	for range order.Uint16(exif[at:]) {
		if len(entries) < 12 {
			break
		}
		if order.Uint16(entries) == tag {
			if turn := int(order.Uint16(entries[8:])); turn >= 1 && turn <= 8 {
				return turn
			}
		}
		entries = entries[12:]
	}
	return 1
}
