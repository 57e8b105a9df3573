package ops

import (
	"errors"
	"os"
	"path/filepath"
)

// replaceFile replaces a file in one step, so that a reader never sees a part of it. finish is called before the new
// file is closed, for example to synchronize it.
func replaceFile(path string, text []byte, finish func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, finish(f), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
