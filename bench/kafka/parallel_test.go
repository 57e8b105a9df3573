//go:build unix

package kafka_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// parallelPath is the environment variable with the Java class path: the compiled parallel/Parallel.java, and the jars
// of its pom.xml.
const parallelPath = "GODWIT_BENCH_PARALLEL"

// runParallel runs Confluent's Parallel Consumer in a Java process.
func runParallel(ctx context.Context, j job) (figure, error) {
	// The garbage collector for throughput: the machine has two cores, and pauses do not matter here.
	cmd := exec.CommandContext(ctx, "java", "-XX:+UseParallelGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", os.Getenv(parallelPath),
		"Parallel", j.broker, j.topic, j.group, strconv.Itoa(j.concurrency), strconv.Itoa(j.warm),
		strconv.Itoa(j.records), strconv.FormatInt(j.handler.Milliseconds(), 10))
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return figure{}, fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return figure{}, err
	}
	var took struct{ Nanos, CPU time.Duration }
	if err := json.Unmarshal(out, &took); err != nil {
		return figure{}, fmt.Errorf("the Java program printed %q: %w", out, err)
	}
	return figure{rate: float64(j.records) / took.Nanos.Seconds(), cpu: took.CPU / time.Duration(j.records)}, nil
}
