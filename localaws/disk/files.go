package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// files is what a Store needs of a file system. Tests have one that fails, tears and forgets.
type files interface {
	open(name string) (file, error)   // for reading
	create(name string) (file, error) // for writing; a file of this name is an error
	rename(from, to string) error
	remove(name string) error
	list(folder string) ([]string, error) // the names of its files
	mkdir(folder string) error            // succeeds if it exists
	syncFolder(folder string) error
}

// file is an open file, which is written at its end.
type file interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Sync() error
	size() (int64, error)
}

// folder is the files of the operating system below a folder. Only the owner can read what it creates.
type folder string

func (f folder) path(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

func (f folder) open(name string) (file, error) { return wrap(os.Open(f.path(name))) }

func (f folder) create(name string) (file, error) {
	return wrap(os.OpenFile(f.path(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600))
}

func (f folder) rename(from, to string) error { return os.Rename(f.path(from), f.path(to)) }

func (f folder) remove(name string) error { return os.Remove(f.path(name)) }

func (f folder) list(name string) ([]string, error) {
	entries, err := os.ReadDir(f.path(name))
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (f folder) mkdir(name string) error { return os.MkdirAll(f.path(name), 0o700) }

func (f folder) syncFolder(name string) error {
	if runtime.GOOS == "windows" { // where a folder cannot be synced, and need not be
		return nil
	}
	d, err := os.Open(f.path(name))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

type osFile struct{ *os.File }

func wrap(f *os.File, err error) (file, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (f osFile) size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// readFile reads a whole file.
func readFile(fs files, name string) ([]byte, error) {
	f, err := fs.open(name)
	if err != nil {
		return nil, err
	}
	size, err := f.size()
	b := make([]byte, size)
	if err == nil {
		_, err = io.ReadFull(io.NewSectionReader(f, 0, size), b)
	}
	return b, errors.Join(err, f.Close())
}

// writeFile writes a whole file so that it has either all its bytes or another name: it is written beside, synced and
// renamed.
func writeFile(fs files, name string, b []byte) error {
	beside := name + ".new"
	_ = fs.remove(beside) // of an earlier attempt
	f, err := fs.create(beside)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = fs.remove(beside) // so that a full disk has its room back
		return err
	}
	if err := fs.rename(beside, name); err != nil {
		return err
	}
	return fs.syncFolder(filepath.ToSlash(filepath.Dir(name)))
}
