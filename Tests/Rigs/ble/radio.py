"""The controller that bluetoothd drives, and the air between it and the peripherals.

bumble's controller is made for bumble's own host. Against BlueZ it lacks what a real controller does: duplicates are
filtered when the host asks for it, a pending connection can be cancelled, a reset ends everything, the signal
strength differs, a scan response is sent only when asked for. Peripherals can be told to fail a connection.
"""
import asyncio, dataclasses

from bumble import hci
from bumble.controller import Controller
from bumble.link import LocalLink

Report = hci.HCI_LE_Extended_Advertising_Report_Event.Report
Type = hci.HCI_LE_Extended_Advertising_Report_Event.EventType
CONNECTABLE = Type.CONNECTABLE_ADVERTISING | Type.SCANNABLE_ADVERTISING
ENHANCED = 1 << 9           # LE Enhanced Connection Complete in the event mask
Status = hci.HCI_ErrorCode


class Link(LocalLink):
    def __init__(self, peripherals):
        super().__init__()
        self.peripherals = peripherals              # by address

    def send_acl_data(self, sender, destination, transport, data):
        """LocalLink takes a controller's random address as the source of its data; BlueZ scans with a random
        address and connects with its public one, so take the connection's own address."""
        connection = sender.le_connections.get(destination)
        receiver = self.find_le_controller(destination)
        if not connection or not receiver:
            return
        ends = (connection.self_address, destination)
        if any(p.mode == "mute" for a in ends if (p := self.peripherals.get(a))):
            return
        asyncio.get_running_loop().call_soon(receiver.on_link_acl_data, connection.self_address, transport, data)


class Radio(Controller):
    def __init__(self, *args, filters, **named):
        super().__init__(*args, **named)
        self.filters = filters                      # honour "filter duplicates"?
        self.reported = {}                          # by address, what a duplicate is compared with

    # MARK: scanning

    def on_advertising_pdu(self, pdu):
        address, data = pdu.advertiser_address, bytes(pdu.data)
        peripheral = self.link.peripherals.get(address)
        if not peripheral:
            return
        if self.le_scan_enable:
            event = [(Type.LEGACY_ADVERTISING_PDU_USED, data)]
            if peripheral.connectable:
                event = [(Type.LEGACY_ADVERTISING_PDU_USED | CONNECTABLE, data)]
                if self.le_scan_type == 1:          # an active scan
                    event.append((event[0][0] | Type.SCAN_RESPONSE, peripheral.scan_response))
            if not (self.filters and self.filter_duplicates and self.reported.get(address) == event):
                self.reported[address] = event
                for kind, data in event:
                    self.report(peripheral, kind, address, data)
        pending = self.pending_le_connection
        if pending and pending.peer_address == address and peripheral.connectable:
            self.create_le_connection(address)

    def report(self, peripheral, kind, address, data):
        peripheral.reports += 1
        self.send_hci_packet(hci.HCI_LE_Extended_Advertising_Report_Event([Report(
            event_type=kind, address_type=address.address_type, address=address, primary_phy=hci.Phy.LE_1M,
            secondary_phy=0, advertising_sid=0xFF, tx_power=0x7F, rssi=peripheral.rssi, periodic_advertising_interval=0,
            direct_address_type=0, direct_address=hci.Address.ANY, data=data)]))

    def on_hci_le_set_scan_enable_command(self, command):
        self.reported.clear()
        return super().on_hci_le_set_scan_enable_command(command)

    def on_hci_le_set_extended_scan_parameters_command(self, command):
        self.le_scan_type = max(command.scan_types)
        return super().on_hci_le_set_extended_scan_parameters_command(command)

    def on_hci_le_set_extended_scan_enable_command(self, command):
        self.reported.clear()
        return super().on_hci_le_set_extended_scan_enable_command(command)

    # MARK: connections

    def send_hci_packet(self, packet):
        """A host with LL privacy waits for the enhanced event; the plain one leaves it waiting until it times out,
        with its queue blocked meanwhile."""
        if isinstance(packet, hci.HCI_LE_Connection_Complete_Event) and self.le_event_mask & ENHANCED:
            fields = {f.name: getattr(packet, f.name) for f in dataclasses.fields(packet) if f.init}
            packet = hci.HCI_LE_Enhanced_Connection_Complete_Event(
                **fields, local_resolvable_private_address=hci.Address.ANY,
                peer_resolvable_private_address=hci.Address.ANY)
        super().send_hci_packet(packet)

    def create_le_connection(self, peer_address):
        mode = self.link.peripherals[peer_address].mode
        if mode == "hang":
            return
        super().create_le_connection(peer_address)
        if mode == "fail":      # a controller learns it after the connection: the first six intervals go unanswered
            asyncio.get_running_loop().call_later(
                0.1, self.lose, peer_address, Status.CONNECTION_FAILED_TO_BE_ESTABLISHED_ERROR)

    def connection_failed(self, status):
        pending, self.pending_le_connection = self.pending_le_connection, None
        self.send_hci_packet(hci.HCI_LE_Connection_Complete_Event(
            status=status, connection_handle=0, role=hci.Role.CENTRAL, peer_address_type=pending.peer_address_type,
            peer_address=pending.peer_address, connection_interval=0, peripheral_latency=0, supervision_timeout=0,
            central_clock_accuracy=0))

    def on_hci_le_create_connection_cancel_command(self, _command):
        if not self.pending_le_connection:
            return hci.HCI_StatusReturnParameters(Status.COMMAND_DISALLOWED_ERROR)
        # the command's own answer goes first
        asyncio.get_running_loop().call_soon(self.connection_failed, Status.UNKNOWN_CONNECTION_IDENTIFIER_ERROR)
        return hci.HCI_StatusReturnParameters(Status.SUCCESS)

    def lose(self, address, reason=Status.CONNECTION_TIMEOUT_ERROR):
        """Both ends lose the link, as when the peripheral goes out of range."""
        if connection := self.le_connections.get(address):
            peer = self.link.find_le_controller(address)
            self.on_le_disconnected(connection, reason)
            if peer and (other := peer.le_connections.get(connection.self_address)):
                peer.on_le_disconnected(other, reason)

    def on_hci_reset_command(self, command):
        self.le_scan_enable, self.pending_le_connection = False, None
        self.reported.clear()
        for address, connection in list(self.le_connections.items()):
            del self.le_connections[address]        # the host has forgotten it: no event
            peer = self.link.find_le_controller(address)
            if peer and (other := peer.le_connections.get(connection.self_address)):
                peer.on_le_disconnected(other, Status.CONNECTION_TIMEOUT_ERROR)
        return super().on_hci_reset_command(command)
