package main

import (
	"bytes"
	"strings"
	"testing"
)

// Wrong rules are refused before anything is served.
func TestLocalFaultsWrongRules(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"--latency", "50ms", "not of the form ACTION=VALUE"},
		{"--latency", "SendMessage=50ms", "not of the form ACTION=VALUE"},
		{"--latency", "sqs.*=50", "neither a duration"},
		{"--latency", "*=20ms-10ms", "neither a duration"},
		{"--latency", "*=-1ms", "neither a duration"},
		{"--error-rate", "*=5", "not a share"},
		{"--error-rate", "*=101%", "not a share"},
		{"--error-rate", "*=NaN%", "not a share"},
	} {
		var out, errOut bytes.Buffer
		status := run(t.Context(), []string{"local", "--addr", "127.0.0.1:0", c.flag, c.value}, &out, &errOut)
		if status != exitUsage || !strings.Contains(errOut.String(), c.want) || out.Len() > 0 {
			t.Errorf("%s %s: status %d, errors %q; want %q", c.flag, c.value, status, &errOut, c.want)
		}
	}
}
