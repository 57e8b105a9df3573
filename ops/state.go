package ops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

// State keeps a small text between runs: which alerts are open and who was told of them, or what a sweep has announced.
// It is safe for concurrent use, also by several processes, none of which overwrites the change of another.
type State interface {
	// Load returns the state and its version, which is "" for one that does not exist yet.
	Load(ctx context.Context) (text []byte, version string, err error)
	// Store replaces the state if it still has the version, and returns [driver.ErrConflict] otherwise.
	Store(ctx context.Context, text []byte, version string) error
}

// stateTries is how often a change of a state is tried while others write it.
const stateTries = 20

// changeState replaces a state by what f makes of it. It calls f again if another program has changed the state
// meanwhile, and writes nothing if f changes nothing.
func changeState(ctx context.Context, s State, f func(text []byte) ([]byte, error)) error {
	pause := backoff.Curve{First: 50 * time.Millisecond, Max: 2 * time.Second}
	for try := 1; ; try++ {
		before, version, err := s.Load(ctx)
		if err != nil {
			return err
		}
		after, err := f(before)
		if err != nil || bytes.Equal(before, after) {
			return err
		}
		err = s.Store(ctx, after, version)
		if !errors.Is(err, driver.ErrConflict) || try == stateTries {
			return err
		}
		if err := backoff.Sleep(ctx, pause.Jittered(try)); err != nil {
			return err
		}
	}
}

// FileState is a state in files of a folder. Each change is a new file, FILE.1, FILE.2 and so on; only the one
// with the highest number counts; that a name can be created once makes the change conditional, without a lock that a
// crash could leave behind. The last two are kept.
type FileState struct{ file string }

// NewFileState returns the state in FILE.1 and so on. The folder must exist, must be on a file system with hard links,
// and must not be in use by machines that see each other's files late.
func NewFileState(file string) (*FileState, error) {
	folder := filepath.Dir(file)
	if info, err := os.Stat(folder); err != nil {
		return nil, fmt.Errorf("ops: the state: %w: create the folder", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("ops: the state: %s is no folder", folder)
	}
	return &FileState{file: file}, nil
}

// Load reads the file with the highest number.
func (f *FileState) Load(context.Context) (text []byte, version string, err error) {
	for range 10 { // another program may remove what was listed
		numbers, err := f.numbers()
		if err != nil || len(numbers) == 0 {
			return nil, "", err
		}
		last := highest(numbers)
		text, err = os.ReadFile(f.name(last))
		if err == nil {
			return text, strconv.FormatUint(last, 10), nil
		}
		if !os.IsNotExist(err) {
			return nil, "", fmt.Errorf("read the state: %w", err)
		}
	}
	return nil, "", fmt.Errorf("read the state: %s changes all the time: %w", f.file, driver.ErrConflict)
}

// Store writes the file with the next number.
func (f *FileState) Store(_ context.Context, text []byte, version string) (err error) {
	base := uint64(0)
	if version != "" {
		if base, err = strconv.ParseUint(version, 10, 64); err != nil {
			return fmt.Errorf("write the state: version %q is none of it", version)
		}
	}
	draft, err := os.CreateTemp(filepath.Dir(f.file), "."+filepath.Base(f.file)+".*")
	if err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	defer func() { _ = os.Remove(draft.Name()) }()
	_, err = draft.Write(text)
	if err == nil {
		err = draft.Sync()
	}
	if e := draft.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Link(draft.Name(), f.name(base+1))
	}
	if os.IsExist(err) {
		return driver.ErrConflict
	}
	if err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	numbers, err := f.numbers()
	if err != nil {
		return err
	}
	if last := highest(numbers); last > base+1 {
		// The name was free because others are further and have removed it.
		_ = os.Remove(f.name(base + 1))
		return driver.ErrConflict
	}
	for _, n := range numbers {
		if n < base { // base itself stays, for a program that has just listed it
			_ = os.Remove(f.name(n))
		}
	}
	return nil
}

func (f *FileState) name(n uint64) string { return f.file + "." + strconv.FormatUint(n, 10) }

// numbers are the numbers of the files.
func (f *FileState) numbers() (all []uint64, err error) {
	entries, err := os.ReadDir(filepath.Dir(f.file))
	if err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	for _, e := range entries {
		text, ok := strings.CutPrefix(e.Name(), filepath.Base(f.file)+".")
		if n, err := strconv.ParseUint(text, 10, 64); ok && err == nil && strconv.FormatUint(n, 10) == text {
			all = append(all, n)
		}
	}
	return all, nil
}

func highest(numbers []uint64) (most uint64) {
	for _, n := range numbers {
		most = max(most, n)
	}
	return most
}

// memoryState is a state for one process, and the one that is used while another cannot be reached.
type memoryState struct {
	mu      sync.Mutex
	text    []byte
	version uint64
}

// Load returns the state.
func (m *memoryState) Load(context.Context) ([]byte, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text, strconv.FormatUint(m.version, 10), nil
}

// Store replaces the state.
func (m *memoryState) Store(_ context.Context, text []byte, version string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if version != strconv.FormatUint(m.version, 10) {
		return driver.ErrConflict
	}
	m.text, m.version = text, m.version+1
	return nil
}
