package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/godwitmq/godwit/ops"
)

// The runs.
const (
	runSources     = "sources"
	runDeadLetters = "dead-letters"
	runSweep       = "sweep"
)

const inputs = `set the input of the schedule to {"run":"sources"}, {"run":"dead-letters"} or {"run":"sweep"}`

// readEvent returns the name of the run.
func readEvent(payload []byte) (string, error) {
	var e struct {
		Run *string `json:"run"`
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.DisallowUnknownFields() // such as those of an event that the schedule has not replaced by its input
	if err := d.Decode(&e); err != nil {
		return "", fmt.Errorf("the event cannot be read: %w: %s", err, inputs)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("the event has more than one JSON value: %s", inputs)
	}
	if e.Run == nil {
		return "", fmt.Errorf("the event names no run: %s", inputs)
	}
	switch *e.Run {
	case runSources, runDeadLetters, runSweep:
		return *e.Run, nil
	}
	return "", fmt.Errorf("run %.100q is unknown: %s", *e.Run, inputs)
}

// lookOf is what a run of alerts looks at.
func lookOf(run string) ops.Look {
	if run == runDeadLetters {
		return ops.LookDeadLetters
	}
	return ops.LookSources
}
