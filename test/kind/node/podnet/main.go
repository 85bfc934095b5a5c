// podnet is the pod network of a kind cluster whose default, kindnet, cannot be pulled. On each node it routes the pods of
// the other nodes to those nodes, and writes the CNI configuration for the node's own pods. IPv4 only; no network
// policies; nothing is masqueraded, since nodes and pods can answer each other and there is nothing beyond them.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log"
	"net"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const configuration = "/etc/cni/net.d/10-podnet.conflist"

func main() {
	node := os.Getenv("NODE_NAME")
	for {
		done, err := sync(node)
		if err != nil {
			log.Print(err)
		}
		if done {
			time.Sleep(10 * time.Second) // until a node may have joined
		} else {
			time.Sleep(time.Second)
		}
	}
}

// sync tells whether this node's own pods can be given addresses.
func sync(me string) (bool, error) {
	nodes, err := list()
	if err != nil {
		return false, err
	}
	done := false
	var problems []error
	for _, node := range nodes {
		switch {
		case node.Spec.PodCIDR == "": // not registered in full yet
		case node.Name == me:
			problems = append(problems, configure(node.Spec.PodCIDR))
			done = true
		default:
			problems = append(problems, route(node))
		}
	}
	err = errors.Join(problems...)
	return done && err == nil, err
}

func list() ([]corev1.Node, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return nodes.Items, nil
}

func route(node corev1.Node) error {
	_, pods, err := net.ParseCIDR(node.Spec.PodCIDR)
	if err != nil {
		return err
	}
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return netlink.RouteReplace(&netlink.Route{Dst: pods, Gw: net.ParseIP(address.Address)})
		}
	}
	return nil
}

// configure writes the file that makes the kubelet call the node ready: only now, so that pods are not given a network
// before there is one.
func configure(podCIDR string) error {
	type object = map[string]any
	text, err := json.MarshalIndent(object{
		"cniVersion": "1.0.0",
		"name":       "podnet",
		"plugins": []object{
			{"type": "ptp", "mtu": 1500, "ipam": object{
				"type":    "host-local",
				"dataDir": "/run/podnet",
				"ranges":  [][]object{{{"subnet": podCIDR}}},
				"routes":  []object{{"dst": "0.0.0.0/0"}},
			}},
		},
	}, "", "  ")
	if err != nil {
		return err
	}
	if current, _ := os.ReadFile(configuration); bytes.Equal(current, text) {
		return nil
	}
	if err := os.WriteFile(configuration+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(configuration+".new", configuration)
}
