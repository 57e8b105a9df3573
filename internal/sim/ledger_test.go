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

// ledger is a file of the seeds that passed. Each line has a commit and a seed. Lines are only appended, so a run that
// is stopped loses nothing.
type ledger struct {
	path   string
	commit string
	passed map[uint64]bool // at this commit
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
		if err == nil && commit == l.commit { // an unfinished line of a stopped run is ignored
			l.passed[n] = true
		}
	}
	return lines.Err()
}

// next returns the first n seeds that have not passed, starting at 1.
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

// commitOf identifies the code under test: the commit, and a hash of the changes since.
func commitOf(root string) (string, error) {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unversioned", nil //nolint:nilerr // without git or a repository there is one commit for all
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

// A ledger skips the seeds that have passed, ignores unfinished lines, and ignores other commits.
func TestLedgerContinues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "below", "ledger")
	l, err := openLedger(path, "../..")
	if err != nil {
		t.Skipf("the ledger needs git: %v", err)
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
