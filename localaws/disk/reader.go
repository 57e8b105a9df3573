package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
)

// reader reads files, and notes what cannot be read.
type reader struct {
	files files
	log   *slog.Logger

	mu     sync.Mutex
	damage []Damage
}

// all returns what could not be read.
func (r *reader) all() []Damage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.damage)
}

// Damage is a part of a file that cannot be read. Its bytes are in the file Aside as well, where they stay.
type Damage struct {
	File   string // below the folder
	Offset int64
	Length int64 // 0: the whole file is missing
	Cause  string
	Aside  string // below the folder; "": nothing is there to be set aside
	// Tail says that nothing that can be read follows: the process has ended while it wrote, before it acknowledged, or
	// the end of the file is damaged.
	Tail bool
}

func (d Damage) Error() string {
	text := fmt.Sprintf("disk: %s cannot be read at offset %d (%d bytes): %s", d.File, d.Offset, d.Length, d.Cause)
	if d.Aside != "" {
		text += "; a copy is in " + d.Aside
	}
	return text
}

// setAside copies bytes that cannot be read, unless an earlier start has done so, and notes the damage.
func (r *reader) setAside(d Damage, b []byte) error {
	if len(b) > 0 {
		base := strings.ReplaceAll(d.File, "/", "-")
		d.Aside = fmt.Sprintf("%s/%s-%d-%08x", asideFolder, base, d.Offset, crc32.Checksum(b, castagnoli))
		if f, err := r.files.open(d.Aside); err == nil {
			_ = f.Close()
		} else if err := writeFile(r.files, d.Aside, b); err != nil {
			return fmt.Errorf("disk: set aside what cannot be read of %s: %w", d.File, err)
		}
	}
	r.mu.Lock()
	r.damage = append(r.damage, d)
	r.mu.Unlock()
	r.log.Error("some stored data cannot be read; the rest is served", "file", d.File, "offset", d.Offset,
		"bytes", d.Length, "cause", d.Cause, "aside", d.Aside, "tail", d.Tail)
	return nil
}

// read returns the bytes of a segment, up to its end.
func (r *reader) read(g *segment) ([]byte, error) {
	f, err := r.files.open(g.name())
	if err != nil {
		return nil, err
	}
	defer f.Close() // it is only read
	b := make([]byte, g.size)
	_, err = io.ReadFull(io.NewSectionReader(f, 0, g.size), b)
	return b, err
}

// attached reads the attachment that a change refers to. ok is false if it cannot be read, which is noted.
func (r *reader) attached(c change) (value []byte, ok bool, err error) {
	number, w := binary.Uvarint(c.value)
	length, w2 := binary.Uvarint(c.value[max(w, 0):])
	name := attachmentName(number)
	value, err = readFile(r.files, name)
	why := "the length or the checksum is wrong"
	switch {
	case err != nil:
		value, why = nil, err.Error()
	case w > 0 && w2 > 0 && len(c.value) == w+w2+4 && uint64(len(value)) == length &&
		crc32.Checksum(value, castagnoli) == binary.LittleEndian.Uint32(c.value[w+w2:]):
		return value, true, nil
	}
	return nil, false, r.setAside(Damage{File: name, Length: int64(len(value)), Cause: why}, value)
}

// checkFormat reads the file FORMAT, and writes it if it is missing. A damaged one is replaced: segments have the
// version as well.
func (r *reader) checkFormat() error {
	text, err := readFile(r.files, formatFile)
	if err == nil {
		if _, ok := parseFormat(string(text)); ok {
			return nil
		}
		if err := r.setAside(Damage{
			File: formatFile, Length: int64(len(text)), Cause: "the checksum is wrong", Tail: true,
		}, text); err != nil {
			return err
		}
		if err := r.files.remove(formatFile); err != nil {
			return err
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return writeFile(r.files, formatFile, []byte(formatText(version)))
}

func (r *reader) missing(number uint64) error {
	return r.setAside(Damage{File: (&segment{number: number}).name(), Cause: "the file is missing"}, nil)
}
