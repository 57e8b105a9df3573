package connection

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/godwitmq/godwit/internal/wholefile"
)

// chosenFile has the context that this user has chosen for each file.
func chosenFile() (string, error) {
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "godwit", "contexts.json"), err
}

// choices reads them. A user without a folder for settings has chosen none.
func choices() (map[string]string, error) {
	file, err := chosenFile()
	if err != nil {
		return nil, nil //nolint:nilerr // there is no home
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w: delete the file, and choose again", file, err)
	}
	return all, nil
}

// Current returns the context that was chosen for a file; "": none.
func Current(file string) (string, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	all, err := choices()
	return all[path], err
}

// Use chooses a context of a file; "": none.
func Use(file, name string) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	all, err := choices()
	if err != nil {
		return err
	}
	if all == nil {
		all = map[string]string{}
	}
	if name == "" {
		delete(all, path)
	} else {
		all[path] = name
	}
	to, err := chosenFile()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return wholefile.Replace(to, append(text, '\n'), 0o600)
}
