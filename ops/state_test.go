package ops_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

func fileState(t *testing.T) *ops.FileState {
	t.Helper()
	s, err := ops.NewFileState(filepath.Join(t.TempDir(), "alerts.json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Of programs that change a state at the same time, none overwrites the change of another.
func TestFileStateIsConditional(t *testing.T) {
	s := fileState(t)
	const programs, changes = 8, 25
	var wg sync.WaitGroup
	for range programs {
		wg.Go(func() {
			for n := 0; n < changes; {
				text, version, err := s.Load(t.Context())
				if errors.Is(err, driver.ErrConflict) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				count, _ := strconv.Atoi(string(text))
				switch err = s.Store(t.Context(), []byte(strconv.Itoa(count+1)), version); {
				case err == nil:
					n++
				case errors.Is(err, driver.ErrConflict): // although a later change may have hidden that it was written
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	text, version, err := s.Load(t.Context())
	count, _ := strconv.Atoi(string(text))
	if err != nil || count < programs*changes || strconv.Itoa(count) != version {
		t.Errorf("%s in version %s, %v; want at least %d", text, version, err, programs*changes)
	}
}

// A state of an old version is not overwritten, also if its files are gone. Two files stay.
func TestFileStateOfTheLast(t *testing.T) {
	file := filepath.Join(t.TempDir(), "alerts.json")
	s, err := ops.NewFileState(file)
	if err != nil {
		t.Fatal(err)
	}
	for v := range 5 {
		version := ""
		if v > 0 {
			version = strconv.Itoa(v)
		}
		if err := s.Store(t.Context(), []byte("{}"), version); err != nil {
			t.Fatal(err)
		}
	}
	for _, old := range []string{"", "1", "2", "4"} {
		if err := s.Store(t.Context(), []byte("old"), old); !errors.Is(err, driver.ErrConflict) {
			t.Errorf("version %q: %v", old, err)
		}
	}
	if text, version, err := s.Load(t.Context()); string(text) != "{}" || version != "5" || err != nil {
		t.Errorf("%s, %s, %v", text, version, err)
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	_, err = ops.NewFileState(filepath.Join(file, "x", "y"))
	if err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("%v", err)
	}
}

// A wrong text, a state of another version, and one of other channels are errors, and are not overwritten.
func TestAlertsRefuseAState(t *testing.T) {
	for text, want := range map[string]string{
		"{": "the state is none", `{"version":9}`: "version 9", `{"version":1,"of":"kafka"}`: `"kafka"`,
	} {
		state := fileState(t)
		if err := state.Store(t.Context(), []byte(text), ""); err != nil {
			t.Fatal(err)
		}
		a := newAlerts(t, &street{}, ops.AlertsOptions{Routes: to(&people{}), State: state, Name: "aws"})
		if _, err := a.Once(t.Context(), ops.LookAll); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if now, _, err := state.Load(t.Context()); err != nil || string(now) != text {
			t.Errorf("%s became %s, %v", text, now, err)
		}
	}
}
