package disk

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	version           = 1
	formatFile        = "FORMAT"
	lockName          = "lock"
	logFolder         = "log"
	attachmentsFolder = "attachments"
	asideFolder       = "aside"
	kafkaFolder       = "kafka"
)

var errLocked = errors.New("the folder is locked")

// claim checks that a folder is one of a Store, or empty, and locks it. Before it has the lock, it writes nothing but
// the file of the lock.
func claim(dir string) (*os.File, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("disk: create the folder: %w", err)
		}
	case err != nil:
		return nil, fmt.Errorf("disk: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("disk: %s is not a folder: name a new or empty one", dir)
	}
	if err := checkEntries(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, lockName)
	lock, err := lockFile(path)
	if errors.Is(err, errLocked) {
		holder := "another process"
		if pid, err := os.ReadFile(path); err == nil && len(pid) > 0 {
			holder = "process " + strings.TrimSpace(string(pid))
		}
		return nil, fmt.Errorf("disk: %s is in use by %s: stop that server, or name another folder", dir, holder)
	}
	if err != nil {
		return nil, fmt.Errorf("disk: %s cannot be written: %w", dir, err)
	}
	if err := lock.Truncate(0); err == nil { // the id only helps whoever is refused: a full disk may lack it
		_, _ = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return lock, nil
}

// checkEntries returns an error if the folder belongs to another program or to a newer version.
func checkEntries(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	for _, e := range entries {
		switch e.Name() {
		case formatFile, lockName, logFolder, attachmentsFolder, asideFolder, kafkaFolder, formatFile + ".new":
		default:
			return fmt.Errorf("disk: %s has something else in it (%s): name a new or empty folder", dir, e.Name())
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, formatFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	if n, ok := parseFormat(string(text)); ok && n > version {
		return fmt.Errorf("disk: %s has the data of a newer release (version %d of the format, this one reads %d): "+
			"use that release", dir, n, version)
	}
	return nil
}

// formatText returns the content of the file FORMAT. Every version has this form.
func formatText(n int) string {
	text := fmt.Sprintf("localaws data, version %d", n)
	return fmt.Sprintf("%s, check %08x\n", text, crc32.Checksum([]byte(text), castagnoli))
}

func parseFormat(text string) (n int, ok bool) {
	if _, err := fmt.Sscanf(text, "localaws data, version %d,", &n); err != nil {
		return 0, false
	}
	return n, formatText(n) == text
}
