// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ipfix_export`.

use crate::exporter::{DEFAULT, ExporterInfo, Ipfix};
use crate::settings::{PATH_MTU, Settings, TEMPLATE_INTERVAL};
use cli::Result;
use graph::World;
use msg::{Messages, Module};
use net::api::{Address, given};
use std::net::{IpAddr, Ipv4Addr};

/// The module.
pub static API: Module<World> = Module::core("ipfix_export", messages);

msg::messages! {
    /// Gives the default exporter a collector, or with an address of zero none.
    SetIpfixExporter,
    /// Requests the settings of the default exporter.
    IpfixExporterDump,
    /// These settings; zeros without a collector.
    IpfixExporterDetails,
    /// Makes an exporter to one more collector, or deletes it.
    IpfixExporterCreateDelete,
    /// The number of the exporter.
    IpfixExporterCreateDeleteReply,
    /// Requests the settings of all exporters.
    IpfixAllExporterGet,
    /// The settings of an exporter.
    #[from(IpfixExporterDetails)]
    IpfixAllExporterDetails,
    /// Sends all records that wait.
    IpfixFlush,
}

fn messages(m: &mut Messages<World>) {
    m.call(set);
    m.dump(|w, _: IpfixExporterDump| -> Result<Vec<_>> {
        let all = w.get::<Ipfix>().exporters();
        Ok(all.into_iter().filter(|info| info.number == DEFAULT).map(details).collect())
    });
    m.call(create_delete);
    m.stream(|w, r: IpfixAllExporterGet| {
        let from = given(r.cursor).unwrap_or(0);
        let all = w.get::<Ipfix>().exporters().into_iter();
        Ok(all.filter(move |info| info.number >= from).map(details))
    });
    m.call(|w, _: IpfixFlush| {
        w.get::<Ipfix>().flush(w);
        Ok(())
    });
}

fn set(w: &World, r: SetIpfixExporter) -> Result<()> {
    let settings = Settings {
        collector: r.collector_address.into(),
        port: r.collector_port,
        source: r.src_address.into(),
        vrf: given(r.vrf_id),
        path_mtu: given(r.path_mtu).unwrap_or(PATH_MTU),
        template_interval: given(r.template_interval).unwrap_or(TEMPLATE_INTERVAL),
        checksum: r.udp_checksum,
    };
    let is_off = settings.collector.is_unspecified();
    w.get::<Ipfix>().set(w, (!is_off).then_some(settings))
}

fn create_delete(
    w: &World,
    r: IpfixExporterCreateDelete,
) -> Result<IpfixExporterCreateDeleteReply> {
    let ipfix = w.get::<Ipfix>();
    let collector = r.collector_address.into();
    let settings = Settings {
        collector,
        port: r.collector_port,
        source: r.src_address.into(),
        vrf: given(r.vrf_id),
        path_mtu: given(r.path_mtu).unwrap_or(PATH_MTU),
        template_interval: given(r.template_interval).unwrap_or(TEMPLATE_INTERVAL),
        checksum: r.udp_checksum,
    };
    let number = match r.is_create {
        true => ipfix.create(w, settings),
        false => ipfix.delete(w, collector),
    };
    number.map(|stat_index| IpfixExporterCreateDeleteReply { stat_index })
}

fn details(info: ExporterInfo) -> IpfixExporterDetails {
    let none = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let of = info.settings;
    IpfixExporterDetails {
        collector_address: Address::from(of.map_or(none, |of| of.collector)),
        collector_port: of.map_or(0, |of| of.port),
        src_address: Address::from(of.map_or(none, |of| of.source)),
        vrf_id: of.map_or(0, |of| of.vrf.unwrap_or(0)),
        path_mtu: of.map_or(0, |of| of.path_mtu),
        template_interval: of.map_or(0, |of| of.template_interval),
        udp_checksum: of.is_some_and(|of| of.checksum),
    }
}
