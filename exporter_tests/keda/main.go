// Asks KEDA's own scalers what a ScaledObject with a Kafka trigger would be told.
//
// Arguments: which scaler (kafka: sarama; apache-kafka: kafka-go), then name=value of its trigger's
// metadata. One line of JSON: whether it is active, and the metric's value.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	v2 "k8s.io/api/autoscaling/v2"
)

type told struct {
	IsActive bool    `json:"is_active"`
	Value    float64 `json:"value"`
	Target   float64 `json:"target"`
}

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(which string, pairs []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	metadata := map[string]string{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		metadata[name] = value
	}
	config := &scalersconfig.ScalerConfig{
		ScalableObjectName:      "consumer",
		ScalableObjectNamespace: "default",
		ScalableObjectType:      "ScaledObject",
		GlobalHTTPTimeout:       10 * time.Second,
		TriggerMetadata:         metadata,
		ResolvedEnv:             map[string]string{},
		AuthParams:              map[string]string{},
		MetricType:              v2.AverageValueMetricType,
	}
	made := scalers.NewKafkaScaler
	if which == "apache-kafka" {
		made = scalers.NewApacheKafkaScaler
	}
	scaler, err := made(ctx, config)
	if err != nil {
		return err
	}
	defer scaler.Close(ctx)
	spec := scaler.GetMetricSpecForScaling(ctx)[0].External
	metrics, isActive, err := scaler.GetMetricsAndActivity(ctx, spec.Metric.Name)
	if err != nil {
		return err
	}
	answer := told{
		IsActive: isActive,
		Value:    metrics[0].Value.AsApproximateFloat64(),
		Target:   spec.Target.AverageValue.AsApproximateFloat64(),
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}
