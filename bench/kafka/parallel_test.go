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

// parallelPath names the class path of parallel/Parallel.java, compiled, and of the jars that its pom.xml pins.
const parallelPath = "GODWIT_BENCH_PARALLEL"

// runParallel is Confluent's Parallel Consumer in a Java process of its own.
func runParallel(ctx context.Context, j job) (figure, error) {
	// The collector for throughput: two cores, and nobody minds a pause.
	cmd := exec.CommandContext(ctx, "java", "-XX:+UseParallelGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", os.Getenv(parallelPath),
		"Parallel", j.broker, j.topic, j.group, strconv.Itoa(j.concurrency), strconv.Itoa(j.warm), strconv.Itoa(j.records), strconv.FormatInt(j.handler.Milliseconds(), 10))
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return figure{}, fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return figure{}, err
	}
	var took struct{ Nanos, CPU time.Duration }
	if err := json.Unmarshal(out, &took); err != nil {
		return figure{}, fmt.Errorf("the Java program answered %q: %w", out, err)
	}
	return figure{rate: float64(j.records) / took.Nanos.Seconds(), cpu: took.CPU / time.Duration(j.records)}, nil
}
