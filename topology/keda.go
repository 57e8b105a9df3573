package topology

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ScaledObjectsOptions are the options of ScaledObjects.
type ScaledObjectsOptions struct {
	// Demand is the address of a process godwit demand --serve; "": http://godwit-demand:8081. Set it to the name of its
	// service in the cluster.
	Demand string
	// Most is how many consumers a channel has at most; 0: 20. Set it to what the service behind the handlers bears.
	Most int
	// Target is the name of the deployment with the consumers of a channel; nil: orders-consumer for orders. Set it
	// where deployments have other names.
	Target func(channel string) string
}

// ScaledObjects returns a ScaledObject of KEDA for each declared channel, as documents of YAML. KEDA then sets the
// number of consumers to what godwit demand says, by what waits and how old it may become, on SQS and on Kafka. Names
// that Kubernetes does not allow are changed, and get a part of their hash.
func ScaledObjects(s *Spec, o *ScaledObjectsOptions) ([]byte, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	var opts ScaledObjectsOptions
	if o != nil {
		opts = *o
	}
	if opts.Target == nil {
		opts.Target = func(channel string) string { return kubernetesName(channel) + "-consumer" }
	}
	demand := strings.TrimSuffix(cmp.Or(opts.Demand, "http://godwit-demand:8081"), "/") + "/demand?"
	var text bytes.Buffer
	enc := yaml.NewEncoder(&text)
	enc.SetIndent(2)
	for _, name := range s.ChannelNames() {
		ask := url.Values{"channel": {name}}
		if d := s.Channels[name].DelayTolerance; d != 0 {
			ask.Set("tolerance", d.String())
		}
		err := enc.Encode(object{
			"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
			"metadata": object{"name": kubernetesName(name), "annotations": object{"godwit/channel": name}},
			"spec": object{
				"scaleTargetRef":  object{"name": opts.Target(name)},
				"minReplicaCount": 0, "maxReplicaCount": cmp.Or(opts.Most, 20),
				"triggers": []any{object{"type": "metrics-api", "metadata": object{
					"url": demand + ask.Encode(), "valueLocation": "consumers", "targetValue": "1",
					"activationTargetValue": "0",
				}}},
			},
		})
		if err != nil {
			return nil, err
		}
	}
	return text.Bytes(), enc.Close()
}

// longestKubernetesName is how long a name can be that KEDA writes into a label, with the part of a hash and -consumer.
const longestKubernetesName = 48

// kubernetesName is the name of a channel as Kubernetes allows it: of lower case, digits, '-' and '.'.
func kubernetesName(channel string) string {
	name := strings.ReplaceAll(strings.ToLower(channel), "_", "-")
	if name == channel && len(name) <= longestKubernetesName {
		return name
	}
	name = strings.TrimRight(name[:min(len(name), longestKubernetesName)], "-.")
	return fmt.Sprintf("%s-%.4x", name, sha256.Sum256([]byte(channel)))
}
