package localaws

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Paths of LocalStack, which tools ask that were written for it.
const (
	localstackHealth   = "/_localstack/health"
	healthPath         = "/health"
	localstackInit     = "/_localstack/init"
	localstackMessages = "/_aws/sqs/messages"
	localstackTexts    = "/_aws/sns/sms-messages"
	localstackPushes   = "/_aws/sns/platform-endpoint-messages"
	localstackTokens   = "/_aws/sns/subscription-tokens"
)

// localstack answers requests for the pages that the server has for such tools. No bucket has a name that begins with
// an underscore, so an unknown path that does is a page that there is not.
type localstack struct{ server *Server }

// has reports whether a request is for such a page. A request for /health is for the bucket of this name if there is
// one, or if the client signs it.
func (l localstack) has(r *http.Request) bool {
	if r.URL.Path != healthPath {
		return strings.HasPrefix(r.URL.Path, "/_")
	}
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.URL.RawQuery == "" &&
		r.Header.Get("Authorization") == "" && l.server.s3.Bucket("health") == nil
}

func (l localstack) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if path == localstackMessages || strings.HasPrefix(path, localstackMessages+"/") {
		l.messages(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuse(w, http.StatusMethodNotAllowed, "%s is a page to be read; use GET", path)
		return
	}
	arn, ofToken := strings.CutPrefix(path, localstackTokens+"/")
	switch {
	case path == localstackHealth, path == healthPath:
		respond(w, http.StatusOK, map[string]any{"edition": "godwit", "services": map[string]string{
			"cloudwatch": "running", "resourcegroupstaggingapi": "running", "s3": "running", "sns": "running",
			"sqs": "running", "sts": "running",
		}})
	case path == "/_localstack/info":
		respond(w, http.StatusOK, l.info())
	case path == localstackInit, strings.HasPrefix(path, localstackInit+"/"):
		l.init(w, strings.ToUpper(strings.Trim(strings.TrimPrefix(path, localstackInit), "/")))
	case path == localstackTexts:
		respond(w, http.StatusOK, l.texts(r))
	case path == localstackPushes: // SNS delivers to no telephone, and has no platform endpoints
		respond(w, http.StatusOK, map[string]any{
			"platform_endpoint_messages": map[string]any{}, "region": l.place(r).Region,
		})
	case ofToken:
		l.token(w, arn)
	default:
		refuse(w, http.StatusNotFound, "there is no page %s: the server's own are below %s, and of LocalStack's there are "+
			"/_localstack/health, info and init, %s, and /_aws/sns/sms-messages, platform-endpoint-messages and "+
			"subscription-tokens/ARN", path, ownPrefix, localstackMessages)
	}
}

// Script is a script or a seed that runs at the start of a process, as /_localstack/init lists it.
type Script struct {
	Stage string `json:"stage"` // BOOT, START or READY
	Name  string `json:"name"`
	State string `json:"state"` // UNKNOWN before it runs, RUNNING, SUCCESSFUL or ERROR
}

// init answers with the scripts of one stage, or of all. A stage is complete when the server is ready.
func (l localstack) init(w http.ResponseWriter, stage string) {
	all, ready := []Script(nil), true
	if scripts := l.server.opts.Scripts; scripts != nil {
		all, ready = scripts()
	}
	completed := map[string]bool{"BOOT": ready, "START": ready, "READY": ready, "SHUTDOWN": false}
	listed := []Script{}
	for _, s := range all {
		if stage == "" || s.Stage == stage {
			listed = append(listed, s)
		}
	}
	done, known := completed[stage]
	switch {
	case stage == "":
		respond(w, http.StatusOK, map[string]any{"completed": completed, "scripts": listed})
	case !known:
		refuse(w, http.StatusNotFound, "no such stage %s", strings.ToLower(stage))
	default:
		respond(w, http.StatusOK, map[string]any{"completed": done, "scripts": listed})
	}
}

func (l localstack) info() map[string]any {
	version := "unknown"
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" {
		version = build.Main.Version
	}
	return map[string]any{
		"edition": "godwit", "version": version, "is_license_activated": false, "system": runtime.GOOS,
		"server_time_utc": l.server.Now().UTC().Format("2006-01-02T15:04:05"),
	}
}

// messages lists the messages of a queue as ReceiveMessage would, and receives none.
func (l localstack) messages(w http.ResponseWriter, r *http.Request) {
	url := *r.URL
	url.Path = "/"
	values, who := url.Query(), wire.Identity(r)
	if parts := strings.Split(strings.TrimPrefix(r.URL.Path, localstackMessages+"/"), "/"); len(parts) == 3 {
		values.Set("QueueUrl", "/queue/"+strings.Join(parts, "/")) // region, account, name
		who = wire.Signer{Region: parts[0]}
	}
	values.Set("Action", "ReceiveMessage") // awsJson does not look at it
	url.RawQuery = values.Encode()
	in := *r
	in.URL = &url
	l.server.inspection.ServeAs(w, &in, who)
}

// place is what a page's parameters say, or else the server's own.
func (l localstack) place(r *http.Request) wire.Place {
	at := l.server.places.main.at
	if account := r.FormValue("accountId"); account != "" {
		at.Account = account
	}
	if region := r.FormValue("region"); region != "" {
		at.Region = region
	}
	return at
}

// texts are the messages to telephone numbers, by number; ?phoneNumber= selects one.
func (l localstack) texts(r *http.Request) map[string]any {
	at, only := l.place(r), r.FormValue("phoneNumber")
	byNumber := map[string][]map[string]any{}
	for _, m := range l.server.carrier.Unsent() {
		if m.Protocol != "sms" || m.Account != at.Account || m.Region != at.Region || only != "" && m.Endpoint != only {
			continue
		}
		one := map[string]any{
			"PhoneNumber": m.Endpoint, "MessageId": m.MessageID, "Message": m.Body, "Subject": nil,
			"TopicArn": nil, "SubscriptionArn": nil,
		}
		if m.Subject != "" {
			one["Subject"] = m.Subject
		}
		if arn := m.SubscriptionARN; arn != "" {
			one["SubscriptionArn"], one["TopicArn"] = arn, arn[:strings.LastIndexByte(arn, ':')]
		}
		byNumber[m.Endpoint] = append(byNumber[m.Endpoint], one)
	}
	return map[string]any{"sms_messages": byNumber, "region": at.Region}
}

// token is the token that confirms a subscription.
func (l localstack) token(w http.ResponseWriter, arn string) {
	for _, topic := range l.server.places.named(arn).sns.Topics() {
		for _, sub := range topic.Subscriptions {
			if sub.ARN == arn && sub.Token != "" {
				respond(w, http.StatusOK, map[string]string{"subscription_arn": arn, "subscription_token": sub.Token})
				return
			}
		}
	}
	refuse(w, http.StatusNotFound, "no subscription %s has a token", arn)
}
