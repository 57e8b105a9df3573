# A consumer whose handler is a program of your own, here an example that speaks the protocol of docs/run.md. Build it
# at the root of the repository:
#
#   docker build -f docs/deploy/worker.Dockerfile -t orders-worker .

ARG GO_VERSION=1.26
FROM golang:${GO_VERSION} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags=-s -o /godwit ./cmd/godwit

FROM python:3-slim
COPY --from=build /godwit /usr/local/bin/godwit
COPY examples/workers/worker.py /worker.py
USER 65534:65534
# The command is process 1 and gets the SIGTERM of a stop: it must not be a shell.
CMD ["godwit", "run", "orders", "--worker", "python3 /worker.py", "-j", "8", "--wait", "10s"]
