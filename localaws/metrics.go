package localaws

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch"
	"github.com/godwitmq/godwit/localaws/wire"
)

// metricView is a metric in the list of metrics.
type metricView struct {
	Account    string            `json:"account"`
	Region     string            `json:"region"`
	Namespace  string            `json:"namespace"`
	Name       string            `json:"name"`
	Dimensions map[string]string `json:"dimensions"`
	Units      []string          `json:"units"`
	Seen       time.Time         `json:"seen"` // when a sample arrived last
}

// listMetrics lists the metrics of one place after another. The cursor is the place, and the store's key in it.
func listMetrics(s *Server, p page, r *http.Request) (map[string]any, error) {
	after, key, err := metricCursor(p)
	if err != nil {
		return nil, err
	}
	chosen, err := s.places.chosen(r)
	if err != nil {
		return nil, err
	}
	metrics, last, more := []metricView{}, "", false
	for _, in := range chosen {
		switch order := in.at.Compare(after); {
		case order < 0:
			continue
		case order > 0:
			key = ""
		}
		room := p.limit - len(metrics)
		states := in.cloudwatch.Metrics(r.FormValue("namespace"), key, room+1)
		if more = len(states) > room; more {
			states = states[:room]
		}
		for _, m := range states {
			metrics = append(metrics, viewMetric(in.at, m))
			last = in.at.Account + " " + in.at.Region + " " + m.Key
		}
		if more {
			break
		}
	}
	answer := map[string]any{"metrics": metrics}
	if more {
		answer["next"] = base64.RawURLEncoding.EncodeToString([]byte(last))
	}
	return answer, nil
}

// metricCursor returns the place and the key behind which a page begins.
func metricCursor(p page) (at wire.Place, key string, err error) {
	if p.after == "" {
		return at, "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(p.after)
	account, rest, ok := strings.Cut(string(text), " ")
	region, key, cut := strings.Cut(rest, " ")
	if err != nil || !ok || !cut {
		return at, "", fmt.Errorf("after=%q is not the field next of an answer", p.after)
	}
	return wire.Place{Account: account, Region: region}, key, nil
}

func viewMetric(at wire.Place, m cloudwatch.MetricState) metricView {
	v := metricView{
		Account: at.Account, Region: at.Region, Namespace: m.ID.Namespace, Name: m.ID.Name,
		Dimensions: map[string]string{}, Units: m.Units, Seen: m.Seen.UTC(),
	}
	for _, d := range m.ID.Dimensions {
		v.Dimensions[d.Name] = d.Value
	}
	return v
}

// alarmView is an alarm in the list of alarms.
type alarmView struct {
	Account string
	Region  string
	cloudwatch.MetricAlarm
}

func listAlarms(s *Server, p page, r *http.Request) (map[string]any, error) {
	all, err := everywhere(s.places, r, func(in *services) []cloudwatch.MetricAlarm { return in.cloudwatch.Alarms() })
	if err != nil {
		return nil, err
	}
	some, next := cutPlaces(p, all, func(a *cloudwatch.MetricAlarm) string { return a.AlarmName })
	alarms := []alarmView{}
	for _, a := range some {
		alarms = append(alarms, alarmView{a.at.Account, a.at.Region, a.value})
	}
	return map[string]any{"alarms": alarms, "next": next}, nil
}
