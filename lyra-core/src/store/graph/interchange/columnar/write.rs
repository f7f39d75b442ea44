//! Rows → a folder of Parquet files.

use super::super::export::{check_task, each_row_by, each_row_of};
use super::super::reports::ExportReport;
use super::columns::ColumnType;
use super::folder::NewFolder;
use super::layout::{SCRIPT, part_name, partition_name, schema, unwritable};
use super::rows::Rows;
use super::sums;
use super::tables::{FlatTable, TASK_ID, flat_tables};
use crate::error::{Error, Result};
use crate::store::database::{Database, SqliteResultExt};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of rows in a row group: the amount that DuckDB gives to one thread.
const GROUP_ROWS: usize = 122_880;

/// Size in bytes at which a row group is written.
const GROUP_BYTES: usize = 32 << 20;

/// Writes the graph, or the sub-graph of one task, into a folder: `TABLE/part-0.parquet`, with `by_task`
/// `TABLE/task_id=…/part-0.parquet` for tables whose rows belong to a task, and `script` as `views.sql`.
/// Vectors have a file for each model and length. The folder appears only when it is complete.
///
/// # Errors
/// [`ErrorKind::TaskNotFound`]; [`ErrorKind::InvalidInput`] if `dir` holds anything but an earlier
/// export, and for a task id that cannot be used as a folder name; [`ErrorKind::Backend`] if writing
/// fails.
pub(crate) fn export_parquet(
    db: &Database,
    dir: &Path,
    task_id: Option<&str>,
    by_task: bool,
    script: &str,
) -> Result<ExportReport> {
    db.read(|connection| {
        check_task(connection, task_id)?;
        let folder = NewFolder::create(dir)?;
        let mut report = ExportReport::default();
        for table in &flat_tables() {
            let inside = folder.path().join(table.name);
            let mut out = TableWriter::new(table, inside, by_task)?;
            let written =
                each_flat_row(connection, table, &out.order(), task_id, |row| out.row(row))?;
            out.finish()?;
            let Some(record) = table.record.filter(|_| written > 0) else {
                continue;
            };
            report.written.insert(record.tag.to_owned(), written);
            report.total_written += written;
        }
        let place = folder.path().join(SCRIPT);
        std::fs::write(&place, script).map_err(|e| unwritable(&place, e))?;
        sums::write(folder.path())?;
        folder.finish()?;
        Ok(report)
    })
}

fn each_flat_row(
    connection: &Connection,
    table: &FlatTable,
    order: &str,
    task_id: Option<&str>,
    then: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<usize> {
    if let Some(record) = table.record {
        return each_row_by(connection, record, order, task_id, then);
    }
    let names: Vec<&str> = table.columns.iter().map(|c| c.name).collect();
    let task_id = task_id.filter(|_| table.has_task());
    let only = task_id.map_or("", |_| "WHERE task_id = ?1");
    let sql = format!(
        "SELECT {} FROM {} {only} ORDER BY {order}",
        names.join(", "),
        table.from
    );
    each_row_of(connection, &sql, task_id, then)
}

/// The common property of all rows in one file.
#[derive(Clone, PartialEq, Eq)]
enum Share {
    /// All rows of a table in one file.
    Table,
    /// The rows of one task.
    Task(String),
    /// The vectors of one model, of one length.
    Model(String, i32),
}

/// The files of one table, one after the other.
struct TableWriter<'t> {
    table: &'t FlatTable,
    folder: PathBuf,
    by_task: bool,
    /// Number of files started.
    files: usize,
    open: Option<(Share, PartWriter)>,
}

impl<'t> TableWriter<'t> {
    fn new(table: &'t FlatTable, folder: PathBuf, by_task: bool) -> Result<Self> {
        std::fs::create_dir(&folder).map_err(|e| unwritable(&folder, e))?;
        Ok(Self {
            table,
            folder,
            by_task: by_task && table.has_task(),
            files: 0,
            open: None,
        })
    }

    /// ORDER BY that keeps the rows of a file together.
    fn order(&self) -> String {
        match self.by_task {
            true => format!("{TASK_ID}, {}", self.table.order),
            false => self.table.order.to_owned(),
        }
    }

    fn row(&mut self, row: &Row<'_>) -> Result<()> {
        let share = self.share_of(row)?;
        if self.open.as_ref().is_none_or(|(open, _)| *open != share) {
            self.begin(share)?;
        }
        match &mut self.open {
            Some((_, part)) => part.row(self.table, row),
            None => Err(Error::internal("no file is open")),
        }
    }

    fn share_of(&self, row: &Row<'_>) -> Result<Share> {
        let place = |name: &str| self.table.columns.iter().position(|c| c.name == name);
        if self.by_task {
            let task = place(TASK_ID).map(|at| row.get(at)).transpose().db()?;
            return Ok(Share::Task(task.unwrap_or_default()));
        }
        match (self.has_vectors(), place("model_id"), place("dimension")) {
            (true, Some(model), Some(dimension)) => {
                Ok(Share::Model(row.get(model).db()?, row.get(dimension).db()?))
            }
            _ => Ok(Share::Table),
        }
    }

    fn has_vectors(&self) -> bool {
        let mut columns = self.table.columns.iter();
        columns.any(|c| c.holds == ColumnType::Vector)
    }

    /// Closes the current file and starts that of `share`.
    fn begin(&mut self, share: Share) -> Result<()> {
        self.end()?;
        let dimension = match &share {
            Share::Model(_, dimension) => Some(*dimension),
            _ => None,
        };
        let place = match &share {
            Share::Table => self.folder.join(part_name(0)),
            Share::Model(..) => self.folder.join(part_name(self.files)),
            Share::Task(task) => self.partition(Some(task))?,
        };
        let part = PartWriter::create(self.table, place, self.by_task, dimension)?;
        self.files += 1;
        self.open = Some((share, part));
        Ok(())
    }

    fn partition(&self, task_id: Option<&str>) -> Result<PathBuf> {
        let folder = self.folder.join(partition_name(task_id)?);
        std::fs::create_dir(&folder).map_err(|e| unwritable(&folder, e))?;
        Ok(folder.join(part_name(0)))
    }

    fn end(&mut self) -> Result<()> {
        match self.open.take() {
            Some((_, part)) => part.finish(),
            None => Ok(()),
        }
    }

    fn finish(mut self) -> Result<()> {
        self.end()?;
        if self.files > 0 {
            return Ok(());
        }
        // Without a file, a reader would not know the columns.
        let place = match self.by_task {
            true => self.partition(None)?,
            false => self.folder.join(part_name(0)),
        };
        PartWriter::create(self.table, place, self.by_task, None)?.finish()
    }
}

/// A file under construction.
struct PartWriter {
    place: PathBuf,
    /// For each column of the file, its position in a row of the table.
    columns: Vec<usize>,
    rows: Rows,
    out: ArrowWriter<File>,
}

impl PartWriter {
    fn create(
        table: &FlatTable,
        place: PathBuf,
        partitioned: bool,
        dimension: Option<i32>,
    ) -> Result<Self> {
        let schema = Arc::new(schema(table, partitioned, dimension));
        let columns = table.columns.iter().enumerate();
        let columns = columns.filter(|(_, c)| !(partitioned && c.name == TASK_ID));
        let file = File::create_new(&place).map_err(|e| unwritable(&place, e))?;
        let out = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties(table)))
            .map_err(|e| unwritable(&place, e))?;
        Ok(Self {
            columns: columns.map(|(at, _)| at).collect(),
            rows: Rows::new(schema),
            out,
            place,
        })
    }

    fn row(&mut self, table: &FlatTable, row: &Row<'_>) -> Result<()> {
        let columns = &self.columns;
        let value = |place: usize| -> Result<ValueRef<'_>> { row.get_ref(columns[place]).db() };
        self.rows.push(table, value)?;
        match self.rows.is_full() {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn write(&mut self) -> Result<()> {
        let batch = self.rows.take()?;
        let written = self.out.write(&batch);
        written.map_err(|e| unwritable(&self.place, e))?;
        if self.out.memory_size() < GROUP_BYTES {
            return Ok(());
        }
        let flushed = self.out.flush();
        flushed.map_err(|e| unwritable(&self.place, e))
    }

    fn finish(mut self) -> Result<()> {
        self.write()?;
        let file = self.out.into_inner();
        let file = file.map_err(|e| unwritable(&self.place, e))?;
        file.sync_all().map_err(|e| unwritable(&self.place, e))
    }
}

fn properties(table: &FlatTable) -> WriterProperties {
    let builder = WriterProperties::builder()
        .set_created_by("lyra".to_owned())
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(GROUP_ROWS));
    let columns = table.columns.iter();
    let vectors = columns.filter(|column| column.holds == ColumnType::Vector);
    vectors
        .fold(builder, |builder, column| plain(builder, column.name))
        .build()
}

/// Vectors rarely repeat, so neither a dictionary nor compression helps.
fn plain(builder: WriterPropertiesBuilder, column: &str) -> WriterPropertiesBuilder {
    let path = ["list", "element", "item"].map(str::to_owned);
    let [list, element, item] = path;
    [element, item].into_iter().fold(builder, |builder, leaf| {
        let path = ColumnPath::new(vec![column.to_owned(), list.clone(), leaf]);
        builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_compression(path, Compression::UNCOMPRESSED)
    })
}
