package ops

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
)

const (
	// historyName and historyVersion are the first line of a file. A later version can be read only by a later Godwit.
	historyName    = "godwit-history"
	historyVersion = 1
	// historyEvery is how often the file is written.
	historyEvery = time.Minute
	// historyMost bounds a file that is read, uncompressed: 10,000 channels of 64 KiB.
	historyMost = 10_000 * 64 << 10
)

// historyHead is one channel in the file, as a line of JSON. Its points follow it, oldest first: for each the seconds
// since the one before, and its numbers.
type historyHead struct {
	Channel driver.Channel `json:"channel"`
	Last    time.Time      `json:"last"` // of the latest point
	Points  int            `json:"points"`
}

// historyPoint is a point in the file.
type historyPoint struct {
	After uint16
	Point point
}

// save writes the rings to the file, in one step.
func (s *Sampler) save() error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s %d\n", historyName, historyVersion)
	z, err := gzip.NewWriterLevel(&text, gzip.BestSpeed)
	if err != nil {
		return err
	}
	s.mu.Lock()
	heads, points := make([]historyHead, 0, len(s.rings)), make([][]historyPoint, 0, len(s.rings))
	for ch, r := range s.rings {
		heads, points = append(heads, historyHead{ch, r.last, r.count}), append(points, r.saved())
	}
	s.mu.Unlock()
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
	if err := replaceFile(s.o.History, text.Bytes()); err != nil {
		return fmt.Errorf("ops: write the history: %w", err)
	}
	return nil
}

// saved returns the points of a ring, oldest first.
func (r *ring) saved() []historyPoint {
	all := make([]historyPoint, 0, r.count)
	for i := range r.count {
		n := (r.next - r.count + i + ringPoints) % ringPoints
		c := r.chunks[n/chunkPoints]
		all = append(all, historyPoint{c.after[n%chunkPoints], c.points[n%chunkPoints]})
	}
	return all
}

// load reads the file into the rings. A file that does not exist is an empty history.
func (s *Sampler) load() error {
	f, err := os.Open(s.o.History)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ops: read the history: %w", err)
	}
	defer f.Close()
	if err := s.read(bufio.NewReader(f)); err != nil {
		return fmt.Errorf("ops: read the history in %s: %w", s.o.History, err)
	}
	return nil
}

func (s *Sampler) read(in *bufio.Reader) error {
	first, err := in.ReadString('\n')
	name, version := "", 0
	if _, wrong := fmt.Sscanf(first, "%s %d\n", &name, &version); err != nil || wrong != nil || name != historyName {
		return errors.New("it is another file: name one that a sampler has written, or one that does not exist")
	}
	if version > historyVersion {
		return fmt.Errorf("it is of version %d, and this Godwit reads versions up to %d: use the newer Godwit that has "+
			"written it, or name another file", version, historyVersion)
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("it is damaged (%w): delete it", err)
	}
	lines := bufio.NewReader(io.LimitReader(z, historyMost))
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		var h historyHead
		if err == nil {
			err = json.Unmarshal(line, &h)
		}
		if err == nil && (h.Points < 0 || h.Points > ringPoints) {
			err = fmt.Errorf("a channel has %d points", h.Points)
		}
		points := make([]historyPoint, max(0, min(h.Points, ringPoints)))
		if err == nil {
			err = binary.Read(lines, binary.LittleEndian, points)
		}
		if err != nil {
			return fmt.Errorf("it is damaged (%w): delete it", err)
		}
		s.rings[h.Channel] = restored(points, h.Last)
	}
}

// restored makes a ring of its points.
func restored(points []historyPoint, last time.Time) *ring {
	r := &ring{last: last}
	for _, p := range points {
		for i, v := range p.Point {
			if math.IsInf(float64(v), 0) {
				p.Point[i] = float32(math.NaN())
			}
		}
		c := &r.chunks[r.next/chunkPoints]
		if *c == nil {
			*c = new(chunk)
		}
		(*c).points[r.next%chunkPoints], (*c).after[r.next%chunkPoints] = p.Point, p.After
		r.next, r.count = (r.next+1)%ringPoints, r.count+1
	}
	r.count = min(r.count, ringPoints)
	return r
}

// archive writes the history now and then; one goroutine at a time uses it.
type archive struct {
	s    *Sampler
	last time.Time // of the latest write
}

// keep writes the file if it is time, or at the end of a period. Its error is shown with the next view.
func (k *archive) keep(end bool) error {
	if k.s.o.History == "" || !end && time.Since(k.last) < historyEvery {
		return nil
	}
	k.last = time.Now()
	return k.s.save()
}
