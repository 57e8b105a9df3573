package sim

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// ledger is the file of the seeds that passed, a line for each: commit and seed. It is only ever appended to, so a run
// that is stopped has lost nothing.
type ledger struct {
	path   string
	commit string
	passed map[uint64]bool // at commit
	file   *os.File
}

func openLedger(path, root string) (*ledger, error) {
	commit, err := commitOf(root)
	if err != nil {
		return nil, err
	}
	if path == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("name a ledger with -sim.ledger: %w", err)
		}
		path = filepath.Join(cache, "godwit-sim", "ledger")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	l := &ledger{path: path, commit: commit, passed: map[uint64]bool{}}
	l.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return l, l.read()
}

func (l *ledger) read() error {
	lines := bufio.NewScanner(l.file)
	for lines.Scan() {
		commit, seed, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseUint(seed, 10, 64)
		if err == nil && commit == l.commit { // a line that a dying run left half written counts for nothing
			l.passed[n] = true
		}
	}
	return lines.Err()
}

// next is the first n seeds that have not passed, counted from 1.
func (l *ledger) next(n int) (seeds []uint64) {
	for seed := uint64(1); len(seeds) < n; seed++ {
		if !l.passed[seed] {
			seeds = append(seeds, seed)
		}
	}
	return seeds
}

func (l *ledger) pass(seed uint64) error {
	l.passed[seed] = true
	_, err := fmt.Fprintf(l.file, "%s %d\n", l.commit, seed)
	return err
}

func (l *ledger) Close() error { return l.file.Close() }

// commitOf names what is tested: the commit, and what has changed since.
func commitOf(root string) (string, error) {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unversioned", nil //nolint:nilerr // no git, or no repository: all counts as one
	}
	changes, err := git("diff", "HEAD", "--", "*.go", "go.mod", "go.sum")
	if err != nil {
		return "", err
	}
	if changes != "" {
		sum := sha256.Sum256([]byte(changes))
		commit += "+" + hex.EncodeToString(sum[:4])
	}
	return commit, nil
}

// What has passed is not run again, whatever a dying run left behind, and other commits do not count.
func TestLedgerGoesOnWhereItStopped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "below", "ledger")
	l, err := openLedger(path, "../..")
	if err != nil {
		t.Skipf("no ledger without git: %v", err)
	}
	for _, seed := range []uint64{1, 2, 4} {
		if err := l.pass(seed); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.file.WriteString("0123456789ab 3\n" + l.commit); err != nil {
		t.Fatal(err)
	}
	l.Close()
	l, err = openLedger(path, "../..")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := fmt.Sprint(l.next(3), len(l.passed)); got != "[3 5 6] 3" {
		t.Errorf("next and passed are %s, want [3 5 6] 3", got)
	}
}
