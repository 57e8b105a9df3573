package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Folder is a folder with seeds and scripts.
type Folder struct {
	Path string
	// Plant creates what a seed describes.
	Plant func(ctx context.Context, path string) error
	// Env is added to the environment of scripts.
	Env []string
	// Start is told what becomes of each script; nil: nothing is.
	Start *Start
	// Out gets what scripts print, and a line for each script that fails.
	Out io.Writer
}

// Run plants the seeds and runs the scripts. It goes on after one that fails, and returns all errors.
func (f *Folder) Run(ctx context.Context) error {
	entries, err := os.ReadDir(f.Path) // sorted by name
	if err != nil {
		return err
	}
	var failed []error
	for _, entry := range entries {
		path := filepath.Join(f.Path, entry.Name())
		f.Start.set(entry.Name(), Runs)
		err := f.one(ctx, path)
		f.Start.set(entry.Name(), ended(err))
		if err != nil {
			fmt.Fprintf(f.Out, "%s failed: %v\n", path, err)
			failed = append(failed, fmt.Errorf("%s: %w", path, err))
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return errors.Join(failed...)
}

func ended(err error) string {
	if err != nil {
		return Failed
	}
	return Done
}

func (f *Folder) one(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case strings.HasSuffix(path, ".json") && !info.IsDir():
		return f.Plant(ctx, path)
	case info.IsDir() || info.Mode()&0o111 == 0:
		return errors.New("neither a seed (a file ending in .json) nor an executable script (chmod +x)")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	script := exec.CommandContext(ctx, absolute)
	script.Env = append(os.Environ(), f.Env...)
	script.Stdout, script.Stderr = f.Out, f.Out
	return script.Run()
}
