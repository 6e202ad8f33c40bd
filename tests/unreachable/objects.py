# objects: a program with four threads and 10^5 objects of all kinds, which change all the time. It
# ends with 0 if each object holds at the end what it should.
#
# SPDX-License-Identifier: MIT
import collections
import random
import sys
import threading


class Node:
    def __init__(self, number):
        self.number = number
        self.text = "node %d" % number
        self.others = []
        self.table = {number: str(number), "twice": 2 * number}

    def is_right(self):
        return (self.text == "node %d" % self.number
                and self.table == {self.number: str(self.number), "twice": 2 * self.number}
                and all(other.text == "node %d" % other.number for other in self.others))


def work(seed, count, rounds, wrong):
    choose = random.Random(seed)
    nodes = collections.deque(Node(i) for i in range(count))
    heap = {}
    for i in range(rounds):
        nodes.popleft()
        node = Node(count + i)
        node.others = [nodes[choose.randrange(100)] for _ in range(3)]
        nodes.append(node)
        heap[choose.randrange(1000)] = (bytearray(choose.randrange(20000)), node)
        if i % 64 == 0:
            node.itself = node  # A ring: the collector's.
    wrong[seed] = sum(not node.is_right() for node in nodes) + sum(
        any(data) or not node.is_right() for data, node in heap.values())


def main():
    wrong = {}
    threads = [threading.Thread(target=work, args=(seed, 3500, int(sys.argv[1]), wrong))
               for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("wrong", sorted(wrong.items()))
    return 0 if len(wrong) == 4 and not any(wrong.values()) else 1


sys.exit(main())
