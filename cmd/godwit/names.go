package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// addNames adds the flag for a file with the Names of the programs' options.
func addNames(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "names", "", "a `file` in JSON with the Names of the programs' options")
}

// readNames reads a file of names; "": there are none. R is the Resource of a backend, whose fields are the keys.
func readNames[R any](file string) (names map[string]R, err error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--names: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err = d.Decode(&names); err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = fmt.Errorf("there is more after the first value")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("--names: %s is not a JSON object of channels, with a field for each name: %w", file, err)
	}
	return names, nil
}
