package localaws

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3"
	"github.com/godwitmq/godwit/localaws/wire"
)

// isS3 reports whether a request is S3's. The scope of its signature decides; without a signature, a request that names
// an action of another protocol is not S3's, and every other one is. The action of a form is in its body, and S3 has no
// actions that take a form.
func isS3(r *http.Request) bool {
	if len(r.Header["X-Amz-Target"]) > 0 || len(r.Header["Smithy-Protocol"]) > 0 {
		return false
	}
	scope := rest.ScopeOf(r, nil)
	if scope.Service == "" && r.URL.RawQuery != "" { // it may be signed in its URL
		scope = rest.ScopeOf(r, r.URL.Query())
	}
	if scope.Service != "" {
		return scope.Service == "s3"
	}
	return !wire.IsCBOR(r) && !hasAction(r.URL) &&
		!strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
}

// absentService returns the service whose REST API a request calls, such as lambda, if this server does not have it.
// The services that it has take their calls at the root, at queues' paths, or are S3 and S3 Control.
func absentService(r *http.Request) string {
	if r.URL.Path == "/" || len(r.Header["X-Amz-Target"]) > 0 || len(r.Header["Smithy-Protocol"]) > 0 {
		return ""
	}
	switch service := rest.ScopeOf(r, nil).Service; service {
	case "sqs", "sns", "s3", "monitoring", "sts", "tagging":
		return ""
	default:
		return service
	}
}

// refuseService answers a call to a service that is not there, in the form of REST APIs in JSON.
func refuseService(w http.ResponseWriter, service string) {
	w.Header().Set("X-Amzn-Errortype", "NotImplementedException")
	text := "This server has no " + service + ": it has sqs, sns, s3, cloudwatch, sts and resourcegroupstaggingapi. " +
		"Point AWS_ENDPOINT_URL at a server that has it, and AWS_ENDPOINT_URL_SQS and the like at this one."
	respond(w, http.StatusNotImplemented, map[string]string{"message": text})
}

// isS3Control reports whether a request is S3 Control's: by its path, and by the header with the account, because a
// bucket may be named like the version in the path.
func isS3Control(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, s3.ControlPrefix) && len(r.Header["X-Amz-Account-Id"]) > 0
}

// hasAction reports whether a URL has the parameter Action of the query protocol.
func hasAction(u *url.URL) bool {
	return strings.Contains(u.RawQuery, "Action=") && u.Query().Has("Action")
}
