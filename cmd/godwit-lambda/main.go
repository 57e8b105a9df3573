package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() { lambda.Start(&function{out: os.Stdout}) }
