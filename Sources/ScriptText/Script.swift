/// A script to run.
public struct Script: Sendable {
    /// Its path in the project's folder, as `main.js`; stands in stacks and errors.
    public var path: String
    public var text: String
    /// For a bundle: maps its positions to the files it was made of.
    public var sourceMap: SourceMap?
    /// What a bundle says before all else to hand its exports over.
    var exports = ""

    public init(path: String, text: String, sourceMap: SourceMap? = nil) {
        (self.path, self.text, self.sourceMap) = (path, text, sourceMap)
    }
}
