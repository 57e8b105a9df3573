package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/wholefile"
)

const (
	// fileName and fileVersion are the first line of a file. A later version can be read only by a later Godwit.
	fileName    = "godwit-history"
	fileVersion = 1
	// saveEvery is how often the file is written.
	saveEvery = time.Minute
	// fileMost bounds a file that is read, uncompressed: 10,000 channels of 64 KiB.
	fileMost = 10_000 * 64 << 10
)

// savedChannel is one channel in the file, as a line of JSON. Its points follow it, oldest first: for each the seconds
// since the one before, and its numbers.
type savedChannel struct {
	Channel driver.Channel `json:"channel"`
	Last    time.Time      `json:"last"` // of the latest point
	Points  int            `json:"points"`
}

// savedPoint is a point in the file.
type savedPoint struct {
	After uint16
	Point Point
}

// save writes the history to the file, in one step.
func (h *History) save(path string) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s %d\n", fileName, fileVersion)
	z, err := gzip.NewWriterLevel(&text, gzip.BestSpeed)
	if err != nil {
		return err
	}
	h.mu.Lock()
	heads, points := make([]savedChannel, 0, len(h.rings)), make([][]savedPoint, 0, len(h.rings))
	for ch, r := range h.rings {
		heads, points = append(heads, savedChannel{ch, r.last, r.count}), append(points, r.saved())
	}
	h.mu.Unlock()
	for i := range heads {
		line, err := json.Marshal(heads[i])
		if err == nil {
			_, err = z.Write(append(line, '\n'))
		}
		if err == nil {
			err = binary.Write(z, binary.LittleEndian, points[i])
		}
		if err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := wholefile.Replace(path, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("ops: write the history: %w", err)
	}
	return nil
}

// Load reads the history in a file. A file that does not exist is an empty history.
func Load(path string) (*History, error) {
	h := &History{rings: map[driver.Channel]*ring{}}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ops: read the history: %w", err)
	}
	defer f.Close()
	if err := h.read(bufio.NewReader(f)); err != nil {
		return nil, fmt.Errorf("ops: read the history in %s: %w", path, err)
	}
	return h, nil
}

func (h *History) read(in *bufio.Reader) error {
	first, err := in.ReadString('\n')
	name, version := "", 0
	if _, wrong := fmt.Sscanf(first, "%s %d\n", &name, &version); err != nil || wrong != nil || name != fileName {
		return errors.New("it is another file: name one that a sampler has written, or one that does not exist")
	}
	if version > fileVersion {
		return fmt.Errorf("it is of version %d, and this Godwit reads versions up to %d: use the newer Godwit that has "+
			"written it, or name another file", version, fileVersion)
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("it is damaged (%w): delete it", err)
	}
	lines := bufio.NewReader(io.LimitReader(z, fileMost))
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		var head savedChannel
		if err == nil {
			err = json.Unmarshal(line, &head)
		}
		if err == nil && (head.Points < 0 || head.Points > ringPoints) {
			err = fmt.Errorf("a channel has %d points", head.Points)
		}
		points := make([]savedPoint, max(0, min(head.Points, ringPoints)))
		if err == nil {
			err = binary.Read(lines, binary.LittleEndian, points)
		}
		if err != nil {
			return fmt.Errorf("it is damaged (%w): delete it", err)
		}
		h.rings[head.Channel] = restored(points, head.Last)
	}
}

// restored makes a ring of its points.
func restored(points []savedPoint, last time.Time) *ring {
	r := &ring{last: last}
	for _, p := range points {
		for _, v := range []*float32{
			&p.Point.Waiting, &p.Point.InFlight, &p.Point.Delayed, &p.Point.Oldest, &p.Point.Sent, &p.Point.Done,
		} {
			if math.IsInf(float64(*v), 0) {
				*v = float32(math.NaN())
			}
		}
		r.put(p.Point, p.After)
	}
	return r
}

// Archive writes a history to a file now and then; one goroutine at a time uses it.
type Archive struct {
	Of   *History
	Path string    // "": nothing is written
	Last time.Time // of the latest write, or of the beginning
}

// Keep writes the file if it is time, or at the end of a period.
func (a *Archive) Keep(end bool) error {
	if a.Path == "" || !end && time.Since(a.Last) < saveEvery {
		return nil
	}
	a.Last = time.Now()
	return a.Of.save(a.Path)
}
