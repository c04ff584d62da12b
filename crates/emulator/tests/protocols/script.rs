//! What the head of a file says to do: memory, streams and threads of the host.
//!
//! ```text
//! // memory: inbox 1024, flag 4, raw 64 unwritten, slots 64 of 0x80000000    of each device
//! // host memory: bell 4
//! // multicast: all 1024 of inbox
//! // device 0: 3 times send<1, 64>(inbox.own, inbox.peer, bell, rank, round); record sent
//! // each device: meet<4, 32>(flag.own, flag.peer, 7) dependent
//! // host nic: until bell = 1 acquire; read inbox.0 256
//! ```
//!
//! Each such line is a stream or a thread; `each device` is one of every device. They are filled in turn, an operation
//! each, but none with a wait for an event before that is recorded.

use crate::support::{Arg, launch, program};
use std::collections::BTreeMap;
use std::sync::Arc;
use warpsmith_emulator::{
    Device, DevicePointer, Event, HostThread, Launch, Options, Order, Outcome, Program, Stream, System,
};
use warpsmith_types::Chip;

/// A small one, so that few blocks fill it.
const CHIP: Chip = Chip { multiprocessors: 2, ..Chip::H200 };
const DEVICES: u8 = 2;

/// The script of a file, with its kernels.
pub(crate) struct Script {
    /// The file, for panics.
    name: String,
    memory: Vec<Memory>,
    /// Multicast ranges: a name, bytes, and the memory of each device.
    multicast: Vec<(String, usize, String)>,
    queues: Vec<(Place, Vec<String>)>,
    programs: BTreeMap<String, Arc<Program>>,
}

/// Memory of each device, or of the host.
struct Memory {
    name: String,
    host: bool,
    bytes: usize,
    /// What each word holds; nothing when it is unwritten.
    word: Option<u32>,
}

#[derive(Clone)]
enum Place {
    Device(u8),
    Host(String),
}

enum Queue {
    Stream(Stream),
    Thread(HostThread),
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Script {
    pub(crate) fn read(name: &str, text: &str) -> Script {
        let mut script =
            Script { name: name.into(), memory: vec![], multicast: vec![], queues: vec![], programs: BTreeMap::new() };
        for line in text.lines().skip(2).map_while(|line| line.strip_prefix("// ")) {
            let line = line.split("fix: ").next().unwrap_or_default();
            let (key, rest) = line.split_once(": ").unwrap_or((line.trim().trim_end_matches(':'), ""));
            let operations = || rest.split(';').map(|o| o.trim().to_string()).filter(|o| !o.is_empty()).collect();
            match key {
                "says" => {}
                "memory" | "host memory" => {
                    script.memory.extend(rest.split(',').map(|item| Memory::read(item, key == "host memory")));
                }
                "multicast" => {
                    let words: Vec<&str> = rest.split_whitespace().collect();
                    let [range, bytes, "of", of] = words[..] else { panic!("{name}: {line}") };
                    script.multicast.push((range.into(), bytes.parse().unwrap(), of.into()));
                }
                "each device" => {
                    script.queues.extend((0..DEVICES).map(|d| (Place::Device(d), operations())));
                }
                _ => {
                    let place = match key.split_once(' ') {
                        Some(("device", n)) => Place::Device(n.parse().unwrap()),
                        Some(("host", thread)) => Place::Host(thread.into()),
                        _ => panic!("{name}: {line}"),
                    };
                    script.queues.push((place, operations()));
                }
            }
        }
        for line in text.lines() {
            if let Some((entry, _)) = line.strip_prefix(".visible .entry ").and_then(|l| l.split_once('(')) {
                script.programs.insert(entry.into(), Arc::new(program(text, entry)));
            }
        }
        script
    }

    /// Does all of it.
    pub(crate) fn run(&self, options: &Options) -> Outcome {
        let mut s = System::linked(vec![CHIP; DEVICES.into()]).unwrap();
        s.map_peers();
        let mut pointers = BTreeMap::new();
        for m in &self.memory {
            let owners = if m.host { vec![None] } else { (0..DEVICES).map(Some).collect() };
            for owner in owners {
                let name = owner.map_or(m.name.clone(), |d| format!("{}.{d}", m.name));
                let at = match owner {
                    Some(d) => s.allocate_on(Device(d), m.bytes, &name).unwrap(),
                    None => s.allocate_host(m.bytes, &name).unwrap(),
                };
                s.map_to_host(at).unwrap();
                if let Some(word) = m.word {
                    s.write(at, &word.to_le_bytes().repeat(m.bytes / 4)).unwrap();
                }
                pointers.insert(name, at);
            }
        }
        for (name, bytes, of) in &self.multicast {
            let members: Vec<DevicePointer> = (0..DEVICES).map(|d| pointers[&format!("{of}.{d}")]).collect();
            pointers.insert(name.clone(), s.multicast(*bytes, name, &members).unwrap());
        }
        let queues: Vec<Queue> = self
            .queues
            .iter()
            .map(|(place, _)| match place {
                Place::Device(d) => Queue::Stream(s.stream(Device(*d)).unwrap()),
                Place::Host(name) => Queue::Thread(s.host_thread(name)),
            })
            .collect();
        let mut filling = Filling { script: self, pointers, events: BTreeMap::new() };
        let mut next = vec![0; queues.len()];
        while self.queues.iter().zip(&next).any(|((_, operations), next)| *next < operations.len()) {
            let mut any = false;
            for ((queue, (place, operations)), next) in queues.iter().zip(&self.queues).zip(&mut next) {
                let Some(operation) = operations.get(*next).filter(|o| filling.can(o, place)) else { continue };
                match (queue, place) {
                    (Queue::Stream(stream), Place::Device(d)) => filling.on_stream(&mut s, *stream, *d, operation),
                    (Queue::Thread(thread), _) => filling.on_host(&mut s, *thread, operation),
                    _ => {}
                }
                *next += 1;
                any = true;
            }
            assert!(any, "{}: an event is never recorded", self.name);
        }
        s.run(options).unwrap()
    }
}

impl Memory {
    fn read(item: &str, host: bool) -> Memory {
        let words: Vec<&str> = item.split_whitespace().collect();
        let word = match words[2..] {
            [] => Some(0),
            ["unwritten"] => None,
            ["of", value] => Some(number(value).unwrap()),
            _ => panic!("{item}"),
        };
        Memory { name: words[0].into(), host, bytes: words[1].parse().unwrap(), word }
    }
}

/// What is known while queues are filled.
struct Filling<'s> {
    script: &'s Script,
    pointers: BTreeMap<String, DevicePointer>,
    events: BTreeMap<String, Event>,
}

impl Filling<'_> {
    /// The name, with `own` and `peer` as numbers.
    fn name(&self, text: &str, rank: u8) -> String {
        text.replace(".own", &format!(".{rank}")).replace(".peer", &format!(".{}", 1 - rank))
    }

    fn pointer(&self, text: &str, rank: u8) -> Option<DevicePointer> {
        let name = self.name(text, rank);
        let (name, offset) = name.split_once('+').map_or((name.as_str(), 0), |(n, o)| (n, o.parse().unwrap()));
        self.pointers.get(name).map(|p| p.offset(offset))
    }

    fn at(&self, text: &str, rank: u8) -> DevicePointer {
        self.pointer(text, rank).unwrap_or_else(|| panic!("{}: {text}", self.script.name))
    }

    /// Whether an operation is none that waits for an event which is not recorded yet.
    fn can(&self, operation: &str, place: &Place) -> bool {
        let rank = if let Place::Device(rank) = place { *rank } else { 0 };
        operation.strip_prefix("wait ").is_none_or(|event| self.events.contains_key(&self.name(event, rank)))
    }

    fn event(&mut self, s: &mut System, text: &str, rank: u8) -> Event {
        *self.events.entry(self.name(text, rank)).or_insert_with(|| s.event())
    }

    fn on_stream(&mut self, s: &mut System, stream: Stream, rank: u8, operation: &str) {
        let words: Vec<&str> = operation.split_whitespace().collect();
        match words[..] {
            ["record", event] => {
                let event = self.event(s, event, rank);
                s.on(stream).record(event);
            }
            ["wait", event] => {
                let event = self.event(s, event, rank);
                s.on(stream).wait(event);
            }
            ["fill", to, byte, bytes] => {
                let (to, byte) = (self.at(to, rank), number(byte).unwrap() as u8);
                s.on(stream).fill(to, byte, bytes.parse().unwrap());
            }
            ["copy", to, from, bytes] => {
                let (to, from) = (self.at(to, rank), self.at(from, rank));
                s.on(stream).copy(to, from, bytes.parse().unwrap());
            }
            [times, "times", ..] => {
                let (_, one) = operation.split_once("times ").unwrap();
                for round in 0..times.parse().unwrap() {
                    self.launch(s, stream, rank, one, round);
                }
            }
            _ => self.launch(s, stream, rank, operation, 0),
        }
    }

    /// `kernel<blocks, threads, bytes of shared memory>(arguments) dependent`.
    fn launch(&self, s: &mut System, stream: Stream, rank: u8, text: &str, round: u32) {
        let fail = || panic!("{}: {text}", self.script.name);
        let (head, rest) = text.split_once('(').unwrap_or_else(fail);
        let (arguments, after) = rest.split_once(')').unwrap_or_else(fail);
        let (entry, shape) = head.trim_end_matches('>').split_once('<').unwrap_or_else(fail);
        let shape: Vec<u32> = shape.split(", ").map(|n| n.parse().unwrap()).collect();
        let argument = |text: &str| match (text, self.pointer(text, rank)) {
            (_, Some(pointer)) => Arg::P(pointer),
            ("rank", _) => Arg::U(rank.into()),
            ("round", _) => Arg::U(round),
            _ => Arg::U(number(text).unwrap_or_else(|| panic!("{}: {text}", self.script.name))),
        };
        let arguments: Vec<Arg> = arguments.split(", ").map(argument).collect();
        let launch = Launch {
            dynamic_shared: shape.get(2).copied().unwrap_or_default(),
            dependent: after.contains("dependent"),
            cooperative: after.contains("cooperative"),
            ..launch([shape[0], 1, 1], [shape[1], 1, 1], &arguments)
        };
        let program = self.script.programs.get(entry).unwrap_or_else(|| panic!("{}: {entry}", self.script.name));
        s.on(stream).launch(program, launch);
    }

    fn on_host(&mut self, s: &mut System, thread: HostThread, operation: &str) {
        let words: Vec<&str> = operation.split_whitespace().collect();
        let order = |word: &str| match word {
            "relaxed" => Order::Relaxed,
            "acquire" => Order::Acquire,
            "release" => Order::Release,
            "acq_rel" => Order::AcquireRelease,
            _ => panic!("{}: {operation}", self.script.name),
        };
        match words[..] {
            ["record", event] => {
                let event = self.event(s, event, 0);
                s.host(thread).record(event);
            }
            ["wait", event] => {
                let event = self.event(s, event, 0);
                s.host(thread).wait(event);
            }
            ["fence"] => {
                s.host(thread).fence();
            }
            ["write", to, byte, bytes] => {
                let data = vec![number(byte).unwrap() as u8; bytes.parse().unwrap()];
                s.host(thread).write(self.at(to, 0), &data);
            }
            ["read", from, bytes] => {
                s.host(thread).read(self.at(from, 0), bytes.parse().unwrap());
            }
            ["store", at, "=", value, o] => {
                s.host(thread).store(self.at(at, 0), number(value).unwrap(), order(o));
            }
            ["add", at, "+", value, o] => {
                s.host(thread).add(self.at(at, 0), number(value).unwrap(), order(o));
            }
            ["until", at, "=", value, o] => {
                s.host(thread).wait_until(self.at(at, 0), number(value).unwrap(), order(o));
            }
            ["until", at, ">=", value, o] => {
                s.host(thread).wait_at_least(self.at(at, 0), number(value).unwrap(), order(o));
            }
            _ => panic!("{}: {operation}", self.script.name),
        }
    }
}
