package localaws

import (
	"net/http"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Paths of LocalStack, which tools ask that were written for it.
const (
	localstackHealth   = "/_localstack/health"
	healthPath         = "/health"
	localstackMessages = "/_aws/sqs/messages"
)

// isCompatible reports whether a request is for a page that the server has for such tools. A request for /health is for
// the bucket of this name if there is one, or if the client signs it.
func (s *Server) isCompatible(r *http.Request) bool {
	switch path := r.URL.Path; {
	case path == localstackHealth, path == localstackMessages, strings.HasPrefix(path, localstackMessages+"/"):
		return true
	case path == healthPath:
		return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.URL.RawQuery == "" &&
			r.Header.Get("Authorization") == "" && s.s3.Bucket("health") == nil
	}
	return false
}

// serveCompatible answers a request for one of these pages.
func (s *Server) serveCompatible(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == localstackHealth || r.URL.Path == healthPath {
		respond(w, http.StatusOK, map[string]any{"edition": "godwit", "services": map[string]string{
			"cloudwatch": "running", "resourcegroupstaggingapi": "running", "s3": "running", "sns": "running",
			"sqs": "running", "sts": "running",
		}})
		return
	}
	url := *r.URL
	url.Path = "/"
	values, who := url.Query(), wire.Identity(r)
	if parts := strings.Split(strings.TrimPrefix(r.URL.Path, localstackMessages+"/"), "/"); len(parts) == 3 {
		values.Set("QueueUrl", "/"+parts[1]+"/"+parts[2]) // region, account, name
		who = wire.Signer{Region: parts[0]}
	}
	values.Set("Action", "ReceiveMessage") // awsJson does not look at it
	url.RawQuery = values.Encode()
	in := *r
	in.URL = &url
	s.inspection.ServeAs(w, &in, who)
}
