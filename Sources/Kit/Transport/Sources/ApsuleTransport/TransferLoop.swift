internal import ApsuleKit
internal import CCurl
internal import Glibc
internal import Synchronization

/// The thread that runs all transfers of a project on one multi handle: its connections, its name
/// cache, its TLS sessions.
///
/// `@unchecked Sendable`: the multi handle never changes and takes `curl_multi_wakeup` from any thread; everything else of
/// it, and `running`, is the thread's own.
/// Source: <https://curl.se/libcurl/c/libcurl-multi.html>
final class TransferLoop: @unchecked Sendable {
    private enum Command {
        case start(Exchange)
        case cancel(Exchange)
        case resume(Exchange)
        case stop
    }

    private let multi: UnsafeMutableRawPointer
    private let inbox = Mutex([Command]())
    private var running: [UnsafeMutableRawPointer: Exchange] = [:]
    private var idle: [UnsafeMutableRawPointer] = []

    private static let greatestPool = 16

    init() {
        TransferLoop.initialize
        guard let multi = curl_multi_init() else { fatalError("curl_multi_init gives NULL only without memory") }
        self.multi = multi
        // Beyond these requests wait: descriptors are few, and servers mind.
        ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 32)
        ccurl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, 256)
        ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 64)
        var thread = pthread_t()
        // The thread keeps the loop until it is told to stop.
        let code = pthread_create(
            &thread, nil,
            { data in
                if let data { Unmanaged<TransferLoop>.fromOpaque(data).takeRetainedValue().serve() }
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        precondition(code == 0, "no thread for transfers")
        pthread_detach(thread)
    }

    private static let initialize: Void = { curl_global_init(Int(CURL_GLOBAL_DEFAULT)) }()

    func start(_ exchange: Exchange) { send(.start(exchange)) }
    func cancel(_ exchange: Exchange) { send(.cancel(exchange)) }
    /// Lets a paused exchange go on.
    func resume(_ exchange: Exchange) { send(.resume(exchange)) }
    /// Cancels what runs, closes every connection and ends the thread.
    func stop() { send(.stop) }

    private func send(_ command: Command) {
        let isFirst = inbox.withLock { inbox in
            inbox.append(command)
            return inbox.count == 1
        }
        if isFirst { curl_multi_wakeup(multi) }
    }

    private func serve() {
        var signals = sigset_t()
        sigfillset(&signals)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        while obey() {
            var count: Int32 = 0
            curl_multi_perform(multi, &count)
            if !collect() { curl_multi_poll(multi, nil, 0, 60_000, nil) }
        }
        for exchange in running.values { release(exchange).fail(.cancelled) }
        for handle in idle { curl_easy_cleanup(handle) }
        curl_multi_cleanup(multi)
    }

    /// Carries out what was asked for; false when it is over.
    private func obey() -> Bool {
        let commands = inbox.withLock { inbox in
            defer { inbox = [] }
            return inbox
        }
        for command in commands {
            switch command {
            case .start(let exchange): begin(exchange)
            case .cancel(let exchange): if exchange.isRunning { release(exchange).fail(.cancelled) }
            case .resume(let exchange): exchange.resume()
            case .stop: return false
            }
        }
        return true
    }

    private func begin(_ exchange: Exchange) {
        guard let handle = idle.popLast() ?? curl_easy_init() else { return exchange.fail(.noMemory) }
        if let error = exchange.prepare(handle) {
            keep(handle)
            return exchange.fail(error)
        }
        running[handle] = exchange
        curl_multi_add_handle(multi, handle)
    }

    /// Ends what has ended; whether there was something, which may have started more.
    private func collect() -> Bool {
        var found = false
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle,
                let exchange = running[handle]
            else { continue }
            found = true
            let code = message.pointee.data.result
            let next = exchange.conclude(code)
            release(exchange)
            switch next {
            case .again: begin(exchange)
            case .done(let response): exchange.succeed(response)
            case .failed(let error): exchange.fail(error)
            }
        }
        return found
    }

    /// Takes an exchange off the multi handle.
    @discardableResult
    private func release(_ exchange: Exchange) -> Exchange {
        guard let handle = exchange.detach() else { return exchange }
        running[handle] = nil
        curl_multi_remove_handle(multi, handle)
        exchange.dispose()
        keep(handle)
        return exchange
    }

    private func keep(_ handle: UnsafeMutableRawPointer) {
        guard idle.count < Self.greatestPool else { return curl_easy_cleanup(handle) }
        curl_easy_reset(handle)
        idle.append(handle)
    }
}
