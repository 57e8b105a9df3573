package share

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// defaultLock is brokers' default, for where they may not be asked.
const defaultLock = 30 * time.Second

// LockOf asks how long a group's locks last.
func LockOf(ctx context.Context, ask kmsg.Requestor, group string) (time.Duration, error) {
	lock := defaultLock
	req := kmsg.NewPtrDescribeConfigsRequest()
	one := kmsg.NewDescribeConfigsRequestResource()
	one.ResourceType, one.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	req.Resources = append(req.Resources, one)
	resp, err := req.RequestWith(ctx, ask)
	if err != nil {
		return lock, fmt.Errorf("ask for the configuration of group %s: %w", group, failure.Classify(err))
	}
	for _, r := range resp.Resources {
		if kerr.ErrorForCode(r.ErrorCode) != nil {
			continue // not permitted: brokers' defaults
		}
		for _, c := range r.Configs {
			if c.Value == nil {
				continue
			}
			if n, perr := strconv.Atoi(*c.Value); perr == nil && n > 0 && c.Name == "share.record.lock.duration.ms" {
				lock = time.Duration(n) * time.Millisecond
			}
		}
	}
	return lock, nil
}

// Begin lets a share group begin at the start of the log, as the other groups do; brokers would begin at its end.
func Begin(ctx context.Context, ask kmsg.Requestor, group string) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	one := kmsg.NewIncrementalAlterConfigsRequestResource()
	one.ResourceType, one.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	start := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	from := "earliest"
	start.Name, start.Op, start.Value = "share.auto.offset.reset", kmsg.IncrementalAlterConfigOpSet, &from
	one.Configs = append(one.Configs, start)
	req.Resources = append(req.Resources, one)
	resp, err := req.RequestWith(ctx, ask)
	if err == nil && len(resp.Resources) == 1 {
		err = kerr.ErrorForCode(resp.Resources[0].ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("let group %s begin at the start of its log: %w", group, failure.Classify(err))
	}
	return nil
}
