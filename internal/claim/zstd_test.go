package claim_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
	"github.com/godwitmq/godwit/internal/fullrun"
)

// shelf is a store of one object, in memory.
type shelf struct {
	driver.Store
	object []byte
	size   int64 // as Put was told
	err    error // of reads, after the object
}

func (s *shelf) Put(_ context.Context, _ string, body io.Reader, size int64) (driver.Location, error) {
	var err error
	s.object, err = io.ReadAll(body)
	s.size = size
	return driver.Location{Bucket: "b", Key: "k"}, err
}

func (s *shelf) Open(context.Context, driver.Location) (io.ReadCloser, int64, error) {
	src := io.Reader(bytes.NewReader(s.object))
	if s.err != nil {
		src = io.MultiReader(bytes.NewReader(s.object[:len(s.object)/2]), iotest.ErrReader(s.err))
	}
	return io.NopCloser(src), int64(len(s.object)), nil
}

func size(text []byte) string { return strconv.Itoa(len(text)) }

func noise(n int) []byte {
	b, r := make([]byte, n), rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// A compressed body is read as it was written, however well it compresses.
func TestCompressed(t *testing.T) {
	for name, text := range map[string][]byte{
		"empty": {}, "one byte": {7}, "text": bytes.Repeat([]byte("order 4711, "), 50_000),
		"zeros": make([]byte, fullrun.Pick(24<<20, 200<<20)), "noise": noise(5 << 20), "short noise": noise(100),
	} {
		for kind, m := range map[string]*driver.Message{
			"memory": {Body: text},
			"reader": {Reader: iotest.DataErrReader(bytes.NewReader(text)), Size: int64(len(text))},
		} {
			s := &shelf{}
			var also bytes.Buffer
			p, err := claim.Write(t.Context(), s, "", m, true, &also)
			if err != nil {
				t.Fatalf("%s from %s: %v", name, kind, err)
			}
			p, err = claim.Parse(p.Text(claim.Current), map[string]string{"ExtendedPayloadSize": size(text)})
			if err != nil {
				t.Fatalf("%s from %s: %v", name, kind, err)
			}
			got, err := read(s, p)
			if err != nil || !bytes.Equal(got, text) || !bytes.Equal(also.Bytes(), text) {
				t.Errorf("%s from %s: %d of %d bytes, %d to the other writer, %v", name, kind, len(got), len(text),
					also.Len(), err)
			}
			if n := len(s.object); n*1000 < len(text) || p.Stored != int64(n) || s.size != -1 {
				t.Errorf("%s from %s: an object of %d bytes, Put with %d; %+v", name, kind, n, s.size, p)
			}
		}
	}
}

// Objects that are not what their pointer says are refused, also those that would fill the memory.
func TestCompressedBodiesAreCompared(t *testing.T) {
	text := append(bytes.Repeat([]byte("order 4711, "), 50_000), noise(5000)...)
	written := func() (*shelf, claim.Pointer) {
		s := &shelf{}
		p, err := claim.Write(t.Context(), s, "", &driver.Message{Body: text}, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s, p
	}
	packed := func(body []byte, o ...zstd.EOption) []byte {
		e, err := zstd.NewWriter(nil, o...)
		if err != nil {
			t.Fatal(err)
		}
		return e.EncodeAll(body, nil)
	}
	replaced := func(object []byte) func(*shelf, *claim.Pointer) {
		return func(s *shelf, p *claim.Pointer) { s.object, p.Stored = object, int64(len(object)) }
	}
	fault := func(f driver.PayloadFault) *driver.PayloadFault { return &f }
	for name, c := range map[string]struct {
		change func(*shelf, *claim.Pointer)
		fault  *driver.PayloadFault // nil: a passing error
	}{
		"fewer bytes": {func(_ *shelf, p *claim.Pointer) { p.Size++ }, fault(driver.PayloadShort)},
		"more bytes":  {func(_ *shelf, p *claim.Pointer) { p.Size-- }, fault(driver.PayloadLong)},
		"another hash": {
			func(_ *shelf, p *claim.Pointer) { p.SHA256 = "00" + p.SHA256[2:] }, fault(driver.PayloadAltered),
		},
		"no zstd": {replaced(noise(1000)), fault(driver.PayloadAltered)},
		"an end that is cut": {
			func(s *shelf, p *claim.Pointer) { replaced(s.object[:len(s.object)-1])(s, p) },
			fault(driver.PayloadAltered),
		},
		"a bomb": {
			replaced(packed(make([]byte, 300<<20), zstd.WithWindowSize(1<<20))), fault(driver.PayloadLong),
		},
		"an announced bomb": {
			func(s *shelf, p *claim.Pointer) {
				p.Size = 300 << 20
				replaced(packed(make([]byte, p.Size)))(s, p)
			}, fault(driver.PayloadRatio),
		},
		"a larger window": {
			func(s *shelf, p *claim.Pointer) {
				p.Size, p.SHA256 = 6<<20, "" // only the window is wrong
				replaced(packed(bytes.Repeat(noise(3<<20), 2), zstd.WithWindowSize(4<<20)))(s, p)
			}, fault(driver.PayloadAltered),
		},
		"an object above its body": {
			func(_ *shelf, p *claim.Pointer) { p.Stored = 10 * p.Size }, fault(driver.PayloadShort),
		},
		"much to skip": {
			func(s *shelf, p *claim.Pointer) {
				replaced(append([]byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0x10, 0}, make([]byte, 1<<20)...))(s, p)
			}, fault(driver.PayloadLong),
		},
		"a broken connection":    {func(s *shelf, _ *claim.Pointer) { s.err = io.ErrClosedPipe }, nil},
		"a connection that ends": {func(s *shelf, _ *claim.Pointer) { s.err = io.EOF }, nil},
	} {
		s, p := written()
		c.change(s, &p)
		got, err := read(s, p)
		var payload *driver.PayloadError
		switch is := errors.As(err, &payload); {
		case err == nil, is != (c.fault != nil), is && payload.Fault != *c.fault,
			!is && driver.ClassOf(err) != driver.Transient:
			t.Errorf("%s: %v, of class %s, after %d bytes", name, err, driver.ClassOf(err), len(got))
		}
	}
}

// Compression and decompression have a constant amount of memory.
func TestCompressionIsBounded(t *testing.T) {
	n := fullrun.Pick[int64](40<<20, 128<<20) // more than twice the heap that is allowed
	s := &file{path: filepath.Join(t.TempDir(), "object")}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, most := m.HeapInuse, uint64(0)
	look := func() {
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
	}
	p, err := claim.Write(t.Context(), s, "", &driver.Message{
		Reader: io.TeeReader(io.LimitReader(words{}, n), &every{look: look}), Size: n,
	}, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := claim.Open(t.Context(), s, p)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.Copy(&every{look: look}, r)
	if err = errors.Join(err, r.Close()); err != nil || all != n {
		t.Errorf("%d bytes, %v", all, err)
	}
	t.Logf("%d MiB, %d MiB compressed, in %d MiB of heap", n>>20, p.Stored>>20, (most-before)>>20)
	if most > before+16<<20 {
		t.Errorf("%d MiB of heap", (most-before)>>20)
	}
}

// every calls a func for each 8 MiB.
type every struct {
	look func()
	at   int64
}

func (e *every) Write(p []byte) (int, error) {
	if e.at += int64(len(p)); e.at%(8<<20) < int64(len(p)) {
		e.look()
	}
	return len(p), nil
}

// file is a store of one object, in a file.
type file struct {
	driver.Store
	path string
}

func (s *file) Put(_ context.Context, _ string, body io.Reader, _ int64) (driver.Location, error) {
	f, err := os.Create(s.path)
	if err != nil {
		return driver.Location{}, err
	}
	_, err = io.Copy(f, body)
	return driver.Location{}, errors.Join(err, f.Close())
}

func (s *file) Open(context.Context, driver.Location) (io.ReadCloser, int64, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// words is a text without an end.
type words struct{}

func (words) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = "abcdefg"[rand.IntN(7)]
	}
	return len(p), nil
}
