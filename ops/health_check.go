package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// DefaultStartPeriod is how long a process may have no file yet.
	DefaultStartPeriod = 300 * time.Second
	// healthTimeout bounds a look by HTTP. Docker waits for 10 s.
	healthTimeout = 5 * time.Second
)

// HealthCheck says where CheckHealth looks. One of File and URL is needed.
type HealthCheck struct {
	File string // that a Health writes
	URL  string // of /livez or /readyz
	// Live asks only whether the process should be started again; a service that does not work, or a breaker that is
	// open, then is no reason.
	Live bool
	// StartPeriod is how long after the start of process 1 there may be no file. 0: [DefaultStartPeriod].
	StartPeriod time.Duration
}

// CheckHealth returns why a process does not work; nil: it works, or it is still starting.
func CheckHealth(ctx context.Context, c HealthCheck) error {
	switch {
	case (c.File == "") == (c.URL == ""):
		return errors.New("name either the file that the process writes, or an address of its health")
	case c.StartPeriod < 0:
		return fmt.Errorf("the start period is %v: it cannot be negative", c.StartPeriod)
	case c.URL != "":
		return checkURL(ctx, c.URL)
	}
	c.StartPeriod = cmp.Or(c.StartPeriod, DefaultStartPeriod)
	return checkFile(c, time.Now())
}

func checkFile(c HealthCheck, now time.Time) error {
	text, err := os.ReadFile(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		began, known := firstProcess()
		if !known {
			return fmt.Errorf("there is no file %s", c.File)
		}
		if up := now.Sub(began); up > c.StartPeriod {
			return fmt.Errorf("there is no file %s, %v after the start: no process writes it", c.File,
				up.Round(time.Second))
		}
		return nil
	}
	if err != nil {
		return err
	}
	var r HealthReport
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("%s is no health file: %w", c.File, err)
	}
	if age := now.Sub(r.At); age > HealthFileMaxAge {
		return fmt.Errorf("%s is %v old: its process %d does not work or has ended", c.File, age.Round(time.Second),
			r.PID)
	}
	if all := r.Complaints(c.Live); len(all) > 0 {
		return errors.New(strings.Join(all, "; "))
	}
	return nil
}

// ticks is how many ticks a second has in /proc, on every architecture of Linux that Go runs on.
const ticks = 100

// firstProcess returns when process 1 began, which in a container is its start. known is false where there is no /proc.
func firstProcess() (began time.Time, known bool) {
	stat, err := os.ReadFile("/proc/1/stat")
	if err != nil {
		return began, false
	}
	up, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return began, false
	}
	// The name in parentheses may contain spaces. The 20th field behind it is the start, in ticks since boot.
	_, rest, ok := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	fields, uptime := strings.Fields(rest), strings.Fields(string(up))
	if !ok || len(fields) < 20 || len(uptime) == 0 {
		return began, false
	}
	start, err := strconv.ParseFloat(fields[19], 64)
	now, err2 := strconv.ParseFloat(uptime[0], 64)
	if err != nil || err2 != nil {
		return began, false
	}
	return time.Now().Add(-time.Duration((now - start/ticks) * float64(time.Second))), true
}

func checkURL(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	err = errors.Join(err, answer.Body.Close())
	if err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", url, answer.Status, strings.TrimSpace(string(text)))
	}
	return nil
}

// HealthMain is `godwit health` for a program that brings its own check, because its image has nothing else in it: call
// it at the beginning of main when the first argument is yours for that, with the arguments behind it. It ends the
// process: with 0 if the program works, with 1 and the reason if not, and with 2 for wrong usage.
func HealthMain(args ...string) {
	os.Exit(healthMain(args, os.Stderr))
}

func healthMain(args []string, errOut io.Writer) int {
	var c HealthCheck
	f := flag.NewFlagSet("health", flag.ContinueOnError)
	f.SetOutput(errOut)
	f.StringVar(&c.File, "file", "", "the `file` that the process writes")
	f.StringVar(&c.URL, "url", "", "an `address` of the process, as http://127.0.0.1:8080/livez")
	f.BoolVar(&c.Live, "live", false, "ask only whether the process should be started again")
	f.DurationVar(&c.StartPeriod, "start-period", DefaultStartPeriod, "how long after the start there may be no file")
	if err := f.Parse(args); err != nil {
		return 2
	}
	if err := CheckHealth(context.Background(), c); err != nil {
		_, _ = fmt.Fprintln(errOut, "unhealthy:", err)
		return 1
	}
	return 0
}
