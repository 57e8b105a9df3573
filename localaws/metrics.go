package localaws

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch"
)

// metricView is a metric in the list of metrics.
type metricView struct {
	Namespace  string            `json:"namespace"`
	Name       string            `json:"name"`
	Dimensions map[string]string `json:"dimensions"`
	Units      []string          `json:"units"`
	Seen       time.Time         `json:"seen"` // when a sample arrived last
}

func (s *Server) listMetrics(p page, r *http.Request) (map[string]any, error) {
	after, err := base64.RawURLEncoding.DecodeString(p.after)
	if err != nil {
		return nil, fmt.Errorf("after=%q is not the field next of an answer", p.after)
	}
	states := s.cloudwatch.In(r.FormValue("region")).Metrics(r.FormValue("namespace"), string(after), p.limit+1)
	next := ""
	if len(states) > p.limit {
		states = states[:p.limit]
		next = base64.RawURLEncoding.EncodeToString([]byte(states[p.limit-1].Key))
	}
	metrics := []metricView{}
	for _, m := range states {
		v := metricView{
			Namespace: m.ID.Namespace, Name: m.ID.Name, Dimensions: map[string]string{}, Units: m.Units,
			Seen: m.Seen.UTC(),
		}
		for _, d := range m.ID.Dimensions {
			v.Dimensions[d.Name] = d.Value
		}
		metrics = append(metrics, v)
	}
	return map[string]any{"metrics": metrics, "next": next}, nil
}

func (s *Server) listAlarms(p page, r *http.Request) (map[string]any, error) {
	all := s.cloudwatch.In(r.FormValue("region")).Alarms()
	alarms, next := cut(p, all, func(a *cloudwatch.MetricAlarm) string { return a.AlarmName })
	return map[string]any{"alarms": alarms, "next": next}, nil
}
