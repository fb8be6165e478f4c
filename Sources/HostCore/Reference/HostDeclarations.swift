internal import ApsuleKit

/// `host.d.ts`: everything that a project's script can name, from descriptors.
public enum HostDeclarations {
    /// - Parameter descriptors: the families that scripts can call, each name once.
    public static func text(_ descriptors: [Descriptor]) -> String {
        let errors = ErrorCatalogue(descriptors: descriptors)
        let families = descriptors.sorted { $0.family < $1.family }.map {
            TypeScriptFamily(descriptor: $0, errors: errors)
        }
        var text = """
            // Written by `apsule types` for host \(Discovery.hostVersion). Changes are lost when it is written again.

            /** The operations of this host. */
            declare const host: Apsule.Host;

            declare namespace Apsule {
              interface Host {

            """
        for family in families {
            text += DocComment([family.descriptor.summary]).text(2)
            text += "    readonly \(family.descriptor.family): \(family.namespace).Operations;\n"
        }
        text += "  }\n\n" + shared
        for family in families { text += "\n" + family.text }
        return text + "}\n\n" + RuntimeGlobals.text
    }

    private static let shared = """
          /** What every call takes besides its own options. */
          interface CallOptions {
            /** How long the operation may take to answer; of a stream: to open. Unit: ms. */
            timeoutMs?: number;
            /** Cancels the call. */
            signal?: AbortSignal;
          }

          /** What a call fails with. */
          interface HostError extends Error {
            /** As in `bluetooth.adapter_off`; `apsule help CODE` explains it. */
            readonly code: string;
            /** What a program needs: `reason`, `fix`, `path`, … */
            readonly details: Record<string, any>;
          }

          /** Bytes, wherever Base64 text is taken. */
          type Bytes = Uint8Array | ArrayBuffer | ArrayBufferView;

          /** A stream that was opened. */
          interface Handle<Event, Final> extends AsyncIterable<Event> {
            /** Stops the stream; gives what `done` gives. */
            cancel(): Promise<Final | undefined>;
            /** Settles when the stream has ended. */
            readonly done: Promise<Final | undefined>;
          }

          /** What the call of a stream returns: to await, or to iterate. */
          interface Stream<Event, Result> extends Promise<Result>, AsyncIterable<Event> {}

          /** What a stream says besides its own events. */
          type StreamNotice =
            | { type: "dropped"; count: number }
            | { type: "lost"; [name: string]: any }
            | { type: "resubscribed"; [name: string]: any };

          /** The last event of a callback. */
          interface EndEvent<Final> {
            type: "end";
            reason: "finished" | "cancelled" | "revoked";
            final?: Final;
          }

          /** The last event of a callback whose stream failed. */
          interface ErrorEvent {
            type: "error";
            error: HostError;
            code: string;
            message: string;
            details: Record<string, any>;
          }

        """
}
