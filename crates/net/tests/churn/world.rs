// SPDX-License-Identifier: Apache-2.0
//! The changes, applied to the instance and to the model.

use super::model::{Model, ends};
use graph::SwIfIndex;
use graph::drive::Bench;
use net::drive::{Tx, ethernet};
use net::{
    AdjIndex, Adjacencies, Fib, Interfaces, Neighbor, Neighbors, Net, Path, PathKind, Source,
    TableIndex, TableRef,
};
use std::collections::BTreeMap;
use std::net::IpAddr;
use testkit::Rng;
use testkit::internet::Internet;
use wire::{Ip4, Ip6, MacAddr, Prefix};

static PLUGINS: &[&graph::Plugin] = &[&net::drive::STATE];

/// Number of interfaces, which go up and down.
const PORTS: usize = 6;
/// Number of next hops on one level, and of neighbours on an interface.
const HOSTS: u128 = 48;
/// Maximum number of tables beside the default one.
const TABLES: usize = 6;
/// Approximate number of routes of a protocol: from here on as many are removed as added.
const ROUTES: usize = 6000;
const SOURCES: [Source; 3] = [Source::Plugin, Source::Api, Source::Cli];

/// An instance, and its interfaces, which both protocols use.
pub struct Instance {
    pub bench: Bench,
    pub up: BTreeMap<SwIfIndex, bool>,
    changes: usize,
}

impl Instance {
    pub fn new() -> Self {
        let mut this = Self { bench: Bench::new(PLUGINS), up: BTreeMap::new(), changes: 0 };
        for i in 0..PORTS {
            let sw_if = this.interface(&format!("port{i}"));
            this.up.insert(sw_if, true);
        }
        this.settle();
        this
    }

    /// A new interface that is up.
    pub fn interface(&mut self, name: &str) -> SwIfIndex {
        let world = &self.bench.world;
        let new = ethernet(name, MacAddr([2, 0, 0, 0, 0, 1]));
        let interfaces = world.get::<Interfaces>();
        let sw_if = interfaces.create(world, new, |_, _, _| Tx).expect("an interface");
        interfaces.set_admin(world, sw_if, true).expect("up");
        sw_if
    }

    /// Runs the worker and the memory reclamation.
    pub fn settle(&mut self) {
        self.bench.settle();
        self.bench.world.qsbr.collect();
    }

    /// Numbers of adjacencies, of tables and routes of each protocol, and of neighbours.
    pub fn at_rest(&self) -> [usize; 6] {
        let world = &self.bench.world;
        let (ip4, ip6) =
            (world.get::<Fib<Ip4>>().list_tables(), world.get::<Fib<Ip6>>().list_tables());
        let neighbors = world.get::<Neighbors>();
        [
            world.get::<Adjacencies>().list().len(),
            ip4.len(),
            ip4.iter().map(|table| table.routes).sum(),
            ip6.len(),
            ip6.iter().map(|table| table.routes).sum(),
            neighbors.len(false) + neighbors.len(true),
        ]
    }

    fn port(&self, rng: &mut Rng) -> SwIfIndex {
        let all: Vec<SwIfIndex> = self.up.keys().copied().collect();
        *rng.pick(&all)
    }
}

/// The changes of one protocol.
pub struct Churn<F: Net + Internet> {
    rng: Rng,
    model: Model<F>,
    /// Keys of the model, to choose from; some may be gone.
    known: Vec<(TableIndex, Prefix<F::Addr>)>,
    next_id: u32,
}

/// The address of this number on a level: routes of one level follow only those of lower ones.
pub fn address<F: Internet>(level: usize, number: u128) -> F::Addr {
    let (first, shift) = if F::BITS == 32 { (20, 120) } else { (0x2600, 112) };
    let low = if F::BITS == 32 { number << 96 } else { number << 40 };
    <F as Internet>::addr(((first + level as u128) << shift) | (low & ((1 << shift) - 1)))
}

impl<F: Net + Internet> Churn<F> {
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), model: Model::new(), known: Vec::new(), next_id: 1 }
    }

    /// The number of a random next hop: multiples of 0x3007.
    fn host(&mut self) -> u128 {
        let n = self.rng.below(HOSTS as usize) as u128;
        n * 0x3007
    }

    fn prefix(&mut self, level: usize) -> Prefix<F::Addr> {
        let number =
            if self.rng.one_in(3) { self.host() } else { u128::from(self.rng.next()) & 0xff_ffff };
        let least = if F::BITS == 32 { 9 } else { 17 };
        let len = match self.rng.below(4) {
            0 => F::BITS,
            1 => least + self.rng.below(7) as u8,
            _ => least + self.rng.below(usize::from(F::BITS - least)) as u8,
        };
        Prefix::new(address::<F>(level, number), len).expect("a length").network()
    }

    fn table(&mut self) -> TableIndex {
        let all: Vec<TableIndex> = self.model.tables.keys().copied().collect();
        *self.rng.pick(&all)
    }

    fn path(&mut self, instance: &Instance, level: usize) -> Path {
        let kind = match self.rng.below(if level == 0 { 8 } else { 16 }) {
            0 => PathKind::Fixed(*self.rng.pick(&[AdjIndex::DROP, AdjIndex::PROHIBIT])),
            1 if level > 0 => PathKind::Lookup(Fib::<F>::table_ref(self.table())),
            1..8 => {
                let sw_if = instance.port(&mut self.rng);
                let nexthop = address::<F>(9, self.host()).into();
                PathKind::Neighbor { sw_if, nexthop }
            }
            _ => {
                let below = self.rng.below(level);
                PathKind::Recursive {
                    table: self.table(),
                    nexthop: address::<F>(below, self.host()).into(),
                }
            }
        };
        let (weight, preference) = (1 + self.rng.below(4) as u8, self.rng.below(2) as u8);
        Path { weight, preference, ..Path::new(kind) }
    }

    /// One change.
    pub fn change(&mut self, instance: &mut Instance) {
        match self.rng.below(1000) {
            ..3 => self.change_tables(instance),
            3..15 => self.change_interface(instance),
            15..40 => self.change_neighbor(instance),
            _ if self.rng.below(2 * ROUTES) < self.known.len() => self.withdraw(instance),
            _ => self.announce(instance),
        }
        instance.changes += 1;
        if instance.changes.is_multiple_of(64) {
            instance.settle();
        }
    }

    fn announce(&mut self, instance: &Instance) {
        let (table, level, source) = (self.table(), self.rng.below(3), *self.rng.pick(&SOURCES));
        let prefix = match self.known.is_empty() || self.rng.one_in(2) {
            false => *self.rng.pick(&self.known),
            true => (table, self.prefix(level)),
        };
        let (table, prefix) = prefix;
        if !self.model.tables.contains_key(&table) {
            return;
        }
        // Paths for the prefix's own level, so that no route follows itself.
        let level =
            (0..3).find(|l| level_of::<F>(*l).contains(prefix.addr())).expect("one of ours");
        let mut paths: Vec<Path> = Vec::new();
        for _ in 0..1 + self.rng.below(3) {
            let path = self.path(instance, level);
            if paths.iter().all(|old| old.kind != path.kind) {
                paths.push(path);
            }
        }
        let (world, fib) = (&instance.bench.world, instance.bench.world.get::<Fib<F>>());
        let said = self.model.routes.entry((table, prefix)).or_default().entry(source).or_default();
        if self.rng.one_in(3) {
            fib.add(world, table, prefix, source, &paths).expect("added");
            for path in paths {
                match said.iter_mut().find(|old| old.kind == path.kind) {
                    Some(old) => *old = path,
                    None => said.push(path),
                }
            }
        } else {
            fib.set(world, table, prefix, source, &paths).expect("set");
            *said = paths;
        }
        self.known.push((table, prefix));
    }

    fn withdraw(&mut self, instance: &Instance) {
        let at = self.rng.below(self.known.len());
        let (table, prefix) = self.known.swap_remove(at);
        let key = (table, prefix);
        let Some(sources) = self.model.routes.get_mut(&key) else { return };
        let (world, fib) = (&instance.bench.world, instance.bench.world.get::<Fib<F>>());
        let source = *self.rng.pick(&SOURCES);
        let Some(paths) = sources.get_mut(&source) else {
            assert!(
                fib.remove(world, table, prefix, source, &[]).is_err(),
                "{source} said nothing of {prefix}"
            );
            self.known.push(key);
            return;
        };
        if self.rng.one_in(2) {
            let path = paths.swap_remove(self.rng.below(paths.len()));
            // The order of paths doesn't matter to where packets go.
            fib.remove(world, table, prefix, source, &[path]).expect("there");
        } else {
            fib.remove(world, table, prefix, source, &[]).expect("there");
            paths.clear();
        }
        if paths.is_empty() {
            sources.remove(&source);
        }
        if sources.is_empty() {
            self.model.routes.remove(&key);
        } else {
            self.known.push(key);
        }
    }

    fn change_tables(&mut self, instance: &Instance) {
        let (world, fib) = (&instance.bench.world, instance.bench.world.get::<Fib<F>>());
        if self.model.tables.len() <= TABLES && self.rng.one_in(2) {
            let index = fib.add_table(world, self.next_id, "", Source::Cli).expect("made");
            self.model.tables.insert(index, self.next_id);
            self.next_id += 1;
            return;
        }
        let table = self.table();
        if table == TableIndex::DEFAULT {
            return;
        }
        if self.rng.one_in(2) {
            // A replace by a client that sets no route again: all its routes are removed.
            let source = *self.rng.pick(&SOURCES);
            fib.replace_begin(table, source).expect("there");
            fib.replace_end(world, table, source).expect("there");
            self.forget(|at, s, _| at == table && s == source);
            return;
        }
        // Mostly routes of other tables lead there: these are removed first, in half of the cases.
        if self.rng.one_in(2) {
            for (at, prefix, source) in self.leading_to(table) {
                fib.remove(world, at, prefix, source, &[]).expect("there");
                self.forget_one(at, prefix, source);
            }
        }
        // A table in use is removed only after its last user.
        if !self.model.is_used(table) {
            assert_eq!(fib.delete_table(world, self.model.tables[&table], Source::Cli), Ok(true));
            self.model.tables.remove(&table);
            self.forget(|at, _, _| at == table);
        }
    }

    fn leading_to(&self, table: TableIndex) -> Vec<(TableIndex, Prefix<F::Addr>, Source)> {
        let leads = |path: &Path| match path.kind {
            PathKind::Lookup(TableRef { index: to, .. })
            | PathKind::Recursive { table: to, .. } => table == to,
            _ => false,
        };
        let all = self.model.routes.iter().filter(|((at, _), _)| *at != table);
        let all = all.flat_map(|((at, prefix), sources)| {
            let ours = sources.iter().filter(|(_, paths)| paths.iter().any(leads));
            ours.map(|(source, _)| (*at, *prefix, *source))
        });
        all.collect()
    }

    fn forget_one(&mut self, at: TableIndex, prefix: Prefix<F::Addr>, source: Source) {
        if let Some(sources) = self.model.routes.get_mut(&(at, prefix)) {
            sources.remove(&source);
            if sources.is_empty() {
                self.model.routes.remove(&(at, prefix));
            }
        }
    }

    /// Removes sources' paths from the model, by table, source and paths.
    fn forget(&mut self, gone: impl Fn(TableIndex, Source, &[Path]) -> bool) {
        self.model.routes.retain(|(at, _), sources| {
            sources.retain(|source, paths| !gone(*at, *source, paths));
            !sources.is_empty()
        });
        let routes = &self.model.routes;
        self.known.retain(|key| routes.contains_key(key));
    }

    fn change_interface(&mut self, instance: &mut Instance) {
        let sw_if = instance.port(&mut self.rng);
        let (world, interfaces) = (&instance.bench.world, instance.bench.world.get::<Interfaces>());
        let was = instance.up[&sw_if];
        // By admin state or by link state, and back by the same.
        let admin = interfaces.get(sw_if).expect("there").admin_up != was || self.rng.one_in(2);
        if was || admin {
            if admin && interfaces.get(sw_if).expect("there").link_up {
                interfaces.set_admin(world, sw_if, !was).expect("switched");
            } else {
                interfaces.set_link(world, sw_if, !was).expect("switched");
            }
        } else {
            interfaces.set_link(world, sw_if, true).expect("switched");
        }
        let now = interfaces.get(sw_if).expect("there");
        instance.up.insert(sw_if, now.admin_up && now.link_up);
    }

    fn change_neighbor(&mut self, instance: &Instance) {
        let (world, neighbors) = (&instance.bench.world, instance.bench.world.get::<Neighbors>());
        let sw_if = instance.port(&mut self.rng);
        let ip: IpAddr = address::<F>(9, self.host()).into();
        if neighbors.get(sw_if, ip).is_some() && self.rng.one_in(2) {
            neighbors.remove(world, sw_if, ip).expect("there");
        } else {
            let mac = MacAddr::local(self.rng.next() & 0xffff | 1);
            // A static entry stays static.
            let was_static = neighbors.get(sw_if, ip).is_some_and(|n| n.is_static);
            let is_static = self.rng.one_in(2) || was_static;
            neighbors
                .set(world, Neighbor { is_static, ..Neighbor::new(sw_if, ip, mac) })
                .expect("set");
        }
    }

    /// Checks that packets to every prefix, and to as many random addresses, take the results of
    /// the model.
    pub fn compare(&mut self, instance: &Instance) {
        let world = &instance.bench.world;
        let (fib, adjs) = (world.get::<Fib<F>>(), world.get::<Adjacencies>());
        let (mut reader, model) = (world.qsbr.register(), &self.model);
        let turn = reader.turn();
        let known = model.routes.keys().map(|(table, prefix)| (*table, prefix.addr()));
        let mut all: Vec<(TableIndex, F::Addr)> = known.collect();
        for (table, prefix) in model.routes.keys() {
            all.push((*table, prefix.last()));
            let number = u128::from(self.rng.next()) & 0xff_ffff;
            all.push((*table, address::<F>(self.rng.below(3), number)));
        }
        for (table, addr) in all {
            let want = model.ends(&instance.up, table, addr);
            let got = ends(&fib, &adjs, table, addr, &turn);
            assert_eq!(got, Some(want), "{addr} in table {table}");
        }
        for (table, id) in &model.tables {
            assert_eq!(fib.find_table(*id).ok(), Some(*table));
        }
        assert_eq!(fib.list_tables().len(), model.tables.len());
    }

    /// Removes everything.
    pub fn clear(&mut self, instance: &mut Instance) {
        let world = instance.bench.world.clone();
        let (fib, interfaces) = (world.get::<Fib<F>>(), world.get::<Interfaces>());
        for ((table, prefix), sources) in self.model.routes.drain() {
            for source in sources.keys() {
                fib.remove(&world, table, prefix, *source, &[]).expect("there");
            }
        }
        for id in self.model.tables.values().filter(|id| **id > 0) {
            assert_eq!(fib.delete_table(&world, *id, Source::Cli), Ok(true), "nothing leads there");
        }
        for (sw_if, up) in &mut instance.up {
            interfaces.set_admin(&world, *sw_if, true).expect("up");
            interfaces.set_link(&world, *sw_if, true).expect("up");
            *up = true;
        }
        world.get::<Neighbors>().remove_if(&world, |_| true);
    }
}

/// The prefix of all addresses of a level.
fn level_of<F: Internet>(level: usize) -> Prefix<F::Addr> {
    Prefix::new(address::<F>(level, 0), if F::BITS == 32 { 8 } else { 16 }).expect("a length")
}
