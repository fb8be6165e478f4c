internal import CHostCore
internal import Glibc

/// A detached thread with a name and a stack size.
public enum Thread {
    public static func start(name: String, stackSize: Int = 512 << 10, _ body: @escaping @Sendable () -> Void) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, stackSize)
        let box = Unmanaged.passRetained(Body(name: name, run: body))
        var thread = pthread_t()
        let failed = pthread_create(
            &thread, &attributes,
            { pointer in
                guard let pointer else { return nil }
                let body = Unmanaged<Body>.fromOpaque(pointer).takeRetainedValue()
                host_name_thread(body.name)
                body.run()
                return nil
            }, box.toOpaque())
        // Without a thread the work still has to be done; the caller waits instead.
        if failed != 0 { box.takeRetainedValue().run() }
    }

    private final class Body: Sendable {
        let name: String
        let run: @Sendable () -> Void
        init(name: String, run: @escaping @Sendable () -> Void) { (self.name, self.run) = (name, run) }
    }
}

/// Runs jobs one after another on a thread of its own: what must never wait behind a plugin that blocks.
public final class SerialQueue: Sendable {
    private let pool: ThreadPool

    public init() { pool = ThreadPool(limit: 1) }

    public func submit(_ job: @escaping @Sendable () -> Void) { pool.submit(job) }

    public func close() { pool.close() }
}
