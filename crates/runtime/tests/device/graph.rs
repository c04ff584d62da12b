//! Work that is written down: forks, updates, and captures that fail.

use crate::common::{FLAGS, SINGLE, VADD, add, addresses, device, floats, values, words};
use std::panic::{AssertUnwindSafe, catch_unwind};
use warpsmith_runtime::{Device, Error, Graph, GraphUpdate, Stream};
use warpsmith_types::Chip;

#[test]
fn branches_of_a_graph_run_side_by_side() {
    let device = device();
    let flag = device.upload(&[0; 4], "flag").unwrap();
    let out = device.upload(&[0; 4], "out").unwrap();
    let branch = device.create_independent_stream().unwrap();
    let (fork, join) = (device.create_event().unwrap(), device.create_event().unwrap());
    let graph = {
        let (waiter, signal) = (device.load(FLAGS, "wait_for").unwrap(), device.load(FLAGS, "signal").unwrap());
        Graph::capture(&device, |stream| {
            flag.fill(0, stream)?;
            fork.record(stream)?;
            branch.wait(&fork)?;
            waiter.launch(&SINGLE, &addresses(&[&flag, &out]), &branch, None)?;
            join.record(&branch)?;
            signal.launch(&SINGLE, &addresses(&[&flag]), stream, None)?;
            stream.wait(&join)
        })
        .unwrap()
    };
    // It keeps the kernels of both branches.
    assert_eq!(graph.functions().iter().map(|f| f.name()).collect::<Vec<_>>(), ["wait_for", "signal"]);
    let stream = device.create_stream().unwrap();
    for _ in 0..3 {
        out.upload(&[0; 4]).unwrap();
        graph.replay(&stream).unwrap();
        let outcome = stream.synchronize().unwrap();
        assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
        assert_eq!(words(&out), [7]);
    }
    // The branch is a stream as before.
    out.fill(0, &branch).unwrap();
    branch.synchronize().unwrap();
    assert_eq!(words(&out), [0]);
}

#[test]
fn a_graph_is_updated_in_place_or_anew() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let x = floats(&device, &[1.0; 32], "x");
    let [y, z] = ["y", "z"].map(|name| floats(&device, &[0.0; 32], name));
    let stream = device.create_stream().unwrap();
    let mut graph = Graph::capture(&device, |s| add(&function, s, [&x, &x, &y]).map(drop)).unwrap();
    let graphs = device.live_objects().graphs;
    graph.replay(&stream).unwrap();
    assert_eq!(graph.update(|s| add(&function, s, [&y, &y, &z]).map(drop)).unwrap(), GraphUpdate::InPlace);
    graph.replay(&stream).unwrap();
    assert_eq!((values(&y), values(&z)), (vec![2.0; 32], vec![4.0; 32]));
    let more = graph.update(|s| {
        add(&function, s, [&z, &z, &y])?;
        x.copy_from(&y, s)
    });
    assert_eq!(more.unwrap(), GraphUpdate::Anew);
    graph.replay(&stream).unwrap();
    assert_eq!((values(&y), values(&x)), (vec![8.0; 32], vec![8.0; 32]));
    // As many pieces, of another kind.
    let other = graph.update(|s| {
        add(&function, s, [&z, &z, &y])?;
        x.fill(0, s)
    });
    assert_eq!(other.unwrap(), GraphUpdate::Anew);
    graph.replay(&stream).unwrap();
    assert_eq!(values(&x), [0.0; 32]);
    let back = graph.update(|s| {
        add(&function, s, [&z, &z, &y])?;
        x.copy_from(&y, s)
    });
    assert_eq!(back.unwrap(), GraphUpdate::Anew);
    // What fails changes nothing.
    let failed = graph.update(|s| {
        add(&function, s, [&x, &x, &x])?;
        Err(Error::NotRecorded)
    });
    assert!(matches!(failed, Err(Error::NotRecorded)));
    z.upload(bytemuck::cast_slice(&[0.5f32; 32])).unwrap();
    let outcome = graph.replay(&device.default_stream()).unwrap();
    assert!(outcome.findings.is_empty());
    assert_eq!((values(&y), values(&x)), (vec![1.0; 32], vec![1.0; 32]));
    assert_eq!(device.live_objects().graphs, graphs);
    drop(graph);
    assert_eq!(device.live_objects().graphs, graphs - 1);
}

#[test]
fn captures_that_fail_leave_nothing() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let x = floats(&device, &[1.0; 32], "x");
    let (branch, event) = (device.create_independent_stream().unwrap(), device.create_event().unwrap());
    let launch = |stream: &Stream| add(&function, stream, [&x, &x, &x]).map(drop);
    device.synchronize().unwrap();
    let before = (device.live_objects(), device.memory_use());
    // A branch that the capture does not wait for.
    let unjoined = Graph::capture(&device, |stream| {
        event.record(stream)?;
        branch.wait(&event)?;
        launch(&branch)
    })
    .unwrap_err();
    assert!(matches!(unjoined, Error::Capture { .. }), "{unjoined}");
    // A wait for work that runs.
    let other = device.create_stream().unwrap();
    launch(&other).unwrap();
    let ran = device.create_event().unwrap();
    ran.record(&other).unwrap();
    let outside = Graph::capture(&device, |stream| {
        stream.wait(&ran)?;
        launch(stream)
    })
    .unwrap_err();
    assert!(matches!(outside, Error::Capture { .. }), "{outside}");
    // A synchronisation of what is written down.
    assert!(Graph::capture(&device, |stream| stream.synchronize().map(drop)).is_err());
    // A panic.
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        Graph::capture(&device, |stream| {
            event.record(stream)?;
            branch.wait(&event)?;
            launch(&branch)?;
            panic!("in the middle")
        })
    }));
    assert!(panicked.is_err());
    drop((other, ran));
    assert_eq!((device.live_objects(), device.memory_use()), before);
    // Everything works as before.
    launch(&branch).unwrap();
    let graph = Graph::capture(&device, launch).unwrap();
    branch.synchronize().unwrap();
    graph.replay(&branch).unwrap();
    branch.synchronize().unwrap();
    assert_eq!(values(&x), [8.0; 32]);
}

#[test]
fn a_graph_goes_into_no_graph() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let x = floats(&device, &[1.0; 32], "x");
    let inner = Graph::capture(&device, |stream| add(&function, stream, [&x, &x, &x]).map(drop)).unwrap();
    let error = Graph::capture(&device, |stream| inner.replay(stream).map(drop)).unwrap_err();
    assert!(matches!(error, Error::Capturing { what: "the replay of a graph" }), "{error}");
    inner.replay(&device.default_stream()).unwrap();
    device.synchronize().unwrap();
    assert_eq!(values(&x), [2.0; 32]);
}

#[test]
fn a_graph_that_outlives_its_memory_is_an_error() {
    // On a card it would be another's memory.
    let device = Device::emulated(Chip::H200);
    let (x, y) = (floats(&device, &[1.0; 32], "x"), floats(&device, &[0.0; 32], "y"));
    let graph = Graph::capture(&device, |stream| y.copy_from(&x, stream)).unwrap();
    drop(x);
    let stream = device.create_stream().unwrap();
    for ask in 0..4 {
        graph.replay(&stream).unwrap();
        let event = device.create_event().unwrap();
        let asked = match ask {
            0 => stream.synchronize().map(drop),
            1 => y.to_vec().map(drop),
            2 => event.synchronize(),
            _ => stream.download_to(device.pinned(4).unwrap(), &y, 0).unwrap().wait().map(drop),
        };
        let said = asked.unwrap_err().to_string();
        assert!(said.contains("`x` + 0, which was freed"), "{said}");
        // Said once, and nothing of it is left.
        stream.synchronize().unwrap();
    }
    assert_eq!(values(&y), [0.0; 32]);
}
